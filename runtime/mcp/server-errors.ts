import type { McpAuth, McpServer } from '../contracts/tools/mcp';
import { describeError, type ErrorSummary, isRuntimeError } from '../errors/runtime-error';
import { createRedactor } from '../util/redaction/redact';
import type { McpTarget } from './connection';
import { NOT_SENT } from './http-fetch';
import type { ServerFailure } from './sdk/connect-failures';

const MAX_REASON_CHARS = 300;

/** True when asking again soon may help: the connection failed or its session is over, and nothing was refused. */
export async function isWorthRetrying(error: unknown): Promise<boolean> {
  const { isLostSession } = await import('./sdk/connect-failures');
  if (wasNotSent(error) || isLostSession(error)) return true;
  return causes(error).some(({ code }) => code === 'ECONNRESET' || code === 'UND_ERR_SOCKET');
}

/** True when the request never left, so that making it again cannot make it twice. */
export function wasNotSent(error: unknown): boolean {
  return causes(error).some((cause) => NOT_SENT in cause);
}

/** Why a server gives a run no tools. */
export async function toServerWarning(error: unknown, { tenantId, server }: McpTarget): Promise<ErrorSummary> {
  if (isRuntimeError(error)) return error.toSummary();
  const { describeFailure } = await import('./sdk/connect-failures');
  const failure = describeFailure(error);
  const details = { server: server.name, tenantId, reason: reasonFor(failure, server) };
  if (failure.kind === 'login') return describeError('MCP_LOGIN_REQUIRED', details);
  return describeError(failure.kind === 'refused' ? 'MCP_CREDENTIAL_REFUSED' : 'MCP_SERVER_SKIPPED', details);
}

/** What may be told of a failure: short, and without what the server was sent. */
export function reasonFor(failure: ServerFailure, { auth, discoveryTimeoutMs }: McpServer): string {
  if (failure.kind === 'timeout') return `it did not answer within ${discoveryTimeoutMs} ms`;
  // The server's own words could hold a token that it was sent.
  const isSilent = auth.kind === 'oauth';
  if (failure.isServerText && isSilent) return 'it answered with an error';
  const { reason, words = '' } = failure;
  const told = words === '' || isSilent ? reason : `${reason}: ${words}`;
  return createRedactor(credentialSecrets(auth))(told).slice(0, MAX_REASON_CHARS);
}

/** The secrets that stand in the configuration itself. */
export function credentialSecrets(auth: McpAuth): readonly (string | undefined)[] {
  if (auth.kind === 'bearer') return [auth.token];
  if (auth.kind === 'headers') return Object.values(auth.headers);
  return auth.kind === 'oauth' ? [auth.clientSecret, auth.privateKey, auth.assertion, auth.idp?.idToken] : [];
}

/** The error and what caused it, innermost last. */
function causes(error: unknown): readonly { readonly code?: unknown }[] {
  const chain: object[] = [];
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as { cause?: unknown }).cause) {
    if (chain.includes(cause)) break;
    chain.push(cause);
  }
  return chain;
}

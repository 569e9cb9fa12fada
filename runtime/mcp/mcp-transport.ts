import type { McpServer } from '../contracts/tools/mcp';
import type { ToolSettings, ToolTransport, TransportCall, TransportReply } from '../contracts/tools/tool-transport';
import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { untilAborted } from '../util/abort';
import { clipText } from '../util/text/clip-text';
import type { McpClientPool } from './client-pool';
import type { McpTarget } from './connection';
import { toReply } from './content';
import type { ServerFailure } from './sdk/connect-failures';
import { reasonFor, wasNotSent } from './server-errors';

/** Tools on MCP servers: of a registered server, or of a single row that names a URL and a tool. */
export function createMcpTransport(pool: McpClientPool, readRow: (settings: ToolSettings) => McpServer): ToolTransport {
  return {
    call: async (settings, call) => {
      const target = { tenantId: call.meta.tenant_id, server: settings.server ?? readRow(settings) };
      try {
        return await callOnce(pool, target, { settings, call });
      } catch (error) {
        if (call.signal.aborted || !(await mayRepeat(error, settings)))
          throw await toCallError(error, target, settings);
      }
      return callOnce(pool, target, { settings, call }).catch(async (error: unknown) => {
        throw await toCallError(error, target, settings);
      });
    },
    // Whoever made the pool closes it.
    close: () => Promise.resolve(),
  };
}

async function callOnce(
  pool: McpClientPool,
  target: McpTarget,
  { settings, call }: { readonly settings: ToolSettings; readonly call: TransportCall },
): Promise<TransportReply> {
  return pool.use(target, async (connecting) => {
    // A shared handshake goes on for the others when one caller gives up.
    const connection = await untilAborted(connecting, call.signal).catch((error: unknown) => {
      throw new NotConnectedError(error);
    });
    // Asked for again afterwards: a token may be renewed during the call.
    const secretsBefore = connection.secrets();
    const secrets = (): readonly string[] => [...secretsBefore, ...connection.secrets()];
    try {
      const result = await connection.callTool({
        name: settings.mcpTool,
        arguments: call.input,
        inputSchema: settings.inputSchema,
        context: { ...call.meta },
        signal: call.signal,
        onProgress: call.onProgress,
      });
      return { ...toReply(result, call.maxOutputBytes), secrets: secrets() };
    } catch (error) {
      const { describeFailure, isLostSession } = await import('./sdk/connect-failures');
      const failure = describeFailure(error);
      // An answer of the server, also an error, leaves the connection as it is, unless it may be about that.
      const answer = isLostSession(error) ? undefined : asAnswer(failure);
      if (answer !== undefined && mayBeOfConnection(failure)) pool.drop(target, connection);
      if (answer !== undefined)
        return { ...clipText(answer.text, call.maxOutputBytes), secrets: secrets(), failure: answer.failure };
      if (!call.signal.aborted && failure.kind !== 'refused') pool.drop(target, connection);
      throw error;
    }
  });
}

/** Statuses of a server that would take the same request later. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425]);
const GONE: ReadonlySet<number> = new Set([404, 409, 410]);

/** Reports a refusal that a new connection may resolve: servers have many words for a session that is over. */
function mayBeOfConnection({ status = 0, words = '' }: ServerFailure): boolean {
  return GONE.has(status) || (status >= 400 && /session|transport|initiali[sz]e|connection/i.test(words));
}

/** Returns the server's reason for refusing a call; undefined for failures of the connection or the server. */
function asAnswer(failed: ServerFailure): Required<Pick<TransportReply, 'text' | 'failure'>> | undefined {
  const { kind, reason, status = 0, words = '' } = failed;
  if (kind === 'answer') return { text: reason, failure: { code: 'TOOL_FAILED' } };
  if (kind !== 'http' || status < 400 || status >= 500 || TRANSIENT.has(status)) return undefined;
  const failure =
    status === 429
      ? ({ code: 'TOOL_BUSY', status, when: 'later' } as const)
      : ({ code: 'TOOL_HTTP_ERROR', status } as const);
  return { text: words, failure };
}

/** There was no connection to send the call over. */
class NotConnectedError extends Error {
  override readonly name = 'NotConnectedError';

  constructor(cause: unknown) {
    super('there is no connection', { cause });
  }
}

/** A call is made again only when it had no effect, or when the server says that repeating does no harm. */
async function mayRepeat(error: unknown, settings: ToolSettings): Promise<boolean> {
  const { describeFailure, isLostSession } = await import('./sdk/connect-failures');
  if (error instanceof NotConnectedError && isRuntimeError(error.cause)) return false;
  if (error instanceof NotConnectedError) return describeFailure(error.cause).kind === 'connection';
  // A server that was restarted refuses the old session before it executes anything.
  if (wasNotSent(error) || isLostSession(error)) return true;
  return settings.isRepeatable && ['connection', 'http'].includes(describeFailure(error).kind);
}

async function toCallError(error: unknown, { tenantId, server }: McpTarget, { name }: ToolSettings): Promise<unknown> {
  const { describeFailure } = await import('./sdk/connect-failures');
  const cause = error instanceof NotConnectedError ? error.cause : error;
  if (isRuntimeError(cause)) return cause;
  const failure = describeFailure(cause);
  const reason = reasonFor(failure, server);
  const body = bodyOf(failure, server);
  const details = { tool: name, tenantId, server: server.name, reason, status: failure.status, body };
  if (failure.kind === 'login') return new RuntimeError('MCP_LOGIN_REQUIRED', details);
  if (failure.kind === 'refused') return new RuntimeError('MCP_CREDENTIAL_REFUSED', details);
  if (failure.kind === 'http') return new RuntimeError('TOOL_HTTP_ERROR', details, { cause: error });
  if (failure.kind === 'timeout' || error instanceof NotConnectedError || wasNotSent(error)) {
    return new RuntimeError('TOOL_UNREACHABLE', details, { cause: error });
  }
  return new RuntimeError('TOOL_CONNECTION_LOST', details, { cause: error });
}

/** Returns what an HTTP error says; nothing where it could hold a token that only the connection knows. */
function bodyOf(failure: ServerFailure, server: McpServer): string {
  const { words = '' } = failure;
  return server.auth.kind === 'oauth' ? '' : reasonFor({ ...failure, reason: words, words: '' }, server);
}

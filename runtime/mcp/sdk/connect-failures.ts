import {
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import { errorText } from '../../errors/to-runtime-error';
import type { JsonValue } from '../../util/json';
import { errorWords } from '../../util/text/error-words';

/** The code of an error that stands in for the answer of a call whose stream broke off. */
export const STREAM_LOST = -32_098;

const LOST_SESSION = Symbol('lost session');

/** A person must log in before the server can be used. */
export class LoginRequiredError extends Error {
  override readonly name = 'LoginRequiredError';
}

export interface ServerFailure {
  readonly kind: 'login' | 'refused' | 'timeout' | 'answer' | 'http' | 'connection';
  /** The status, where the kind is `http`. */
  readonly status?: number;
  /** The message in the body of an HTTP error, in the server's own words; empty if there is none. */
  readonly words?: string;
  readonly reason: string;
  /** True when the reason is in the server's own words. */
  readonly isServerText: boolean;
}

const failure = (kind: ServerFailure['kind'], reason: string): ServerFailure => ({ kind, reason, isServerText: false });

/** What went wrong between us and a server. */
export function describeFailure(error: unknown): ServerFailure {
  if (error instanceof LoginRequiredError) return failure('login', error.message);
  if (UnauthorizedError.isInstance(error)) return failure('refused', 'it answered HTTP 401');
  if (OAuthError.isInstance(error)) return { ...failure('refused', error.message), isServerText: true };
  if (SdkHttpError.isInstance(error)) return describeHttpFailure(error);
  if (ProtocolError.isInstance(error)) return describeProtocolError(error);
  if (SdkError.isInstance(error)) return describeSdkFailure(error);
  const { name } = error as { name?: unknown };
  if (name === 'TimeoutError') return failure('timeout', 'it did not answer in time');
  if (name === 'SyntaxError' || name === 'ZodError') return failure('connection', 'its answer is not JSON-RPC');
  return failure('connection', errorText(error));
}

/**
 * An answer of the server, also an error, leaves the connection as it is; unless it stands in for one that never came.
 */
function describeProtocolError({ code, message }: ProtocolError): ServerFailure {
  if (code === STREAM_LOST) return failure('connection', message);
  return { ...failure('answer', message), isServerText: true };
}

function describeHttpFailure({ status, data }: SdkHttpError): ServerFailure {
  const words = errorWords((data as { readonly text?: JsonValue }).text ?? '');
  if (status === 401 || status === 403) return { ...failure('refused', `it answered HTTP ${status}`), words };
  const reason = status >= 300 && status < 400 ? 'it redirects, which is not followed' : `it answered HTTP ${status}`;
  return { ...failure('http', reason), status, words };
}

function describeSdkFailure(error: SdkError): ServerFailure {
  if (error.code === SdkErrorCode.RequestTimeout) return failure('timeout', 'it did not answer in time');
  if (error.code === SdkErrorCode.ClientHttpUnexpectedContent)
    return failure('connection', 'its answer is not JSON-RPC');
  if (error.code === SdkErrorCode.ListPaginationExceeded) {
    return failure('connection', 'its list of tools does not end');
  }
  const { cause } = error;
  return failure('connection', cause === undefined ? error.message : errorText(cause));
}

/**
 * Marks an error of a request that a server refused since it no longer knows the session, and so has not executed. The
 * specification says 404; many servers follow the SDK's example and send 400 with a sentence, others an error of JSON-RPC.
 */
export function markLostSession(error: unknown): void {
  if (isOfSession(error)) Object.assign(error as object, { [LOST_SESSION]: true });
}

function isOfSession(error: unknown): boolean {
  if (ProtocolError.isInstance(error)) return SESSION_CODES.has(error.code) && SESSION_TEXT.test(error.message);
  if (!SdkHttpError.isInstance(error)) return false;
  return error.status === 404 || (error.status === 400 && SESSION_TEXT.test(error.message));
}

/** Codes of servers that refuse a request before any tool sees it. */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_002, -32_600]);

const SESSION_TEXT =
  /\b(session id|no valid session|(invalid|unknown|expired) session|session (not found|expired)|not initialized)\b/i;

/** True when the request was refused for its session: it may be made again over a new one. */
export function isLostSession(error: unknown): boolean {
  return typeof error === 'object' && error !== null && LOST_SESSION in error;
}

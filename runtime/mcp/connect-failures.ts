import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';

import { errorText } from '../errors/to-runtime-error';

/** A person must log in before the server can be used. */
export class LoginRequiredError extends Error {
  override readonly name = 'LoginRequiredError';
}

export interface ServerFailure {
  readonly kind: 'login' | 'refused' | 'timeout' | 'answer' | 'http' | 'connection';
  /** For `http`. */
  readonly status?: number;
  readonly reason: string;
  /** True when the reason is in the server's own words. */
  readonly isServerText: boolean;
}

/** What went wrong between us and a server. */
export function describeFailure(error: unknown): ServerFailure {
  const failure = (kind: ServerFailure['kind'], reason: string): ServerFailure => ({
    kind,
    reason,
    isServerText: false,
  });
  if (error instanceof LoginRequiredError) return failure('login', error.message);
  if (UnauthorizedError.isInstance(error)) return failure('refused', 'it answered HTTP 401');
  if (SdkHttpError.isInstance(error)) return describeHttpFailure(error.status, failure);
  // An answer of the server, also an error, leaves the connection as it is.
  if (ProtocolError.isInstance(error)) return { ...failure('answer', error.message), isServerText: true };
  if (SdkError.isInstance(error)) return describeSdkFailure(error, failure);
  const { name } = error as { name?: unknown };
  if (name === 'TimeoutError') return failure('timeout', 'it did not answer in time');
  if (name === 'SyntaxError' || name === 'ZodError') return failure('connection', 'its answer is not JSON-RPC');
  return failure('connection', errorText(error));
}

function describeHttpFailure(
  status: number,
  failure: (kind: ServerFailure['kind'], reason: string) => ServerFailure,
): ServerFailure {
  if (status === 401 || status === 403) return failure('refused', `it answered HTTP ${status}`);
  const reason = status >= 300 && status < 400 ? 'it redirects, which is not followed' : `it answered HTTP ${status}`;
  return { ...failure('http', reason), status };
}

function describeSdkFailure(
  error: SdkError,
  failure: (kind: ServerFailure['kind'], reason: string) => ServerFailure,
): ServerFailure {
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
 * True when the server no longer knows our session, and so has not executed the request. The specification says 404;
 * many servers follow the SDK's example and send 400 with a sentence.
 */
export function isLostSession(error: unknown): boolean {
  if (!SdkHttpError.isInstance(error)) return false;
  return error.status === 404 || (error.status === 400 && /session|not initialized/i.test(error.message));
}

import type { ErrorCode } from '../errors/codes';
import { RuntimeError } from '../errors/runtime-error';

const MAX_REASON_LENGTH = 500;

const STATUS_CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'LLM_AUTH_FAILED',
  402: 'LLM_INSUFFICIENT_CREDITS',
  403: 'LLM_AUTH_FAILED',
  404: 'LLM_MODEL_NOT_FOUND',
  408: 'LLM_UNAVAILABLE',
  409: 'LLM_UNAVAILABLE',
  429: 'LLM_RATE_LIMITED',
};

/** What a provider answered instead of a reply, as one of our LLM_ codes. `status` is undefined where it did not answer at all. */
export function modelFailure(failure: {
  readonly model: string;
  readonly status: number | undefined;
  /** Already redacted; it is cut here. */
  readonly reason: string;
}): RuntimeError {
  const { status } = failure;
  const details = { ...failure, reason: failure.reason.slice(0, MAX_REASON_LENGTH) };
  if (status === undefined || status >= 500) return new RuntimeError('LLM_UNAVAILABLE', details);
  // OpenRouter says "No endpoints found that support tool use" with a 404, and "not a valid model ID" with a 400.
  if (/support tool/i.test(details.reason)) return new RuntimeError('LLM_NO_TOOL_SUPPORT', details);
  if (status === 400 && /not a valid model|model.*not (found|exist)/i.test(details.reason)) {
    return new RuntimeError('LLM_MODEL_NOT_FOUND', details);
  }
  return new RuntimeError(STATUS_CODES[status] ?? 'LLM_BAD_REQUEST', details);
}

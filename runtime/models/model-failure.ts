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
  /** The provider's own codes of the error. */
  readonly kind?: string;
}): RuntimeError {
  const { model, status, kind = '' } = failure;
  const details = { model, status, reason: failure.reason.slice(0, MAX_REASON_LENGTH) };
  if (status === undefined || status >= 500) return new RuntimeError('LLM_UNAVAILABLE', details);
  // OpenRouter says "No endpoints found that support tool use" with a 404, and "not a valid model ID" with a 400.
  if (/support tool/i.test(details.reason)) return new RuntimeError('LLM_NO_TOOL_SUPPORT', details);
  if (status === 400 && /not a valid model|model.*not (found|exist)/i.test(details.reason)) {
    return new RuntimeError('LLM_MODEL_NOT_FOUND', details);
  }
  if (FILTER_STATUSES.has(status) && FILTERED.test(`${kind} ${details.reason}`)) {
    return new RuntimeError('LLM_CONTENT_FILTERED', details);
  }
  return new RuntimeError(STATUS_CODES[status] ?? 'LLM_BAD_REQUEST', details);
}

const FILTER_STATUSES: ReadonlySet<number> = new Set([400, 403, 422, 451]);

/**
 * Words and codes of OpenRouter and OpenAI (moderation, `content_policy_violation`), Azure (`content_filter`), Google
 * (`PROHIBITED_CONTENT`), DashScope (`data_inspection_failed`), DeepSeek ("Content Exists Risk") and xAI (usage guidelines).
 */
const FILTERED =
  /\b(input|prompt|request|message|content) (was |is |has been )?flagged|requires moderation|moderation_blocked|content.?(filter|policy|management)|responsible.?ai|prohibited.?content|data.?inspection|content exists risk|usage (guidelines|policies|policy)/i;

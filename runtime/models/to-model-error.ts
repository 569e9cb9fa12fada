import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';

import type { ErrorCode } from '../errors/codes';
import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import type { Redact } from '../util/redact';

const MAX_REASON_LENGTH = 500;

/** What the openai client threw, as one of our LLM_ codes. Provider text is redacted and cut. */
export function toModelError(
  error: unknown,
  context: { readonly model: string; readonly timeoutMs: number; readonly redact: Redact },
): RuntimeError {
  if (isRuntimeError(error)) return error;
  const { model } = context;
  const timeoutSeconds = Math.round(context.timeoutMs / 1000);
  if (error instanceof APIConnectionTimeoutError) return new RuntimeError('LLM_TIMEOUT', { timeoutSeconds });
  // The client's own parser: the reply says that it is JSON, and is not.
  if (error instanceof SyntaxError) return new RuntimeError('LLM_BAD_REPLY', { reason: withoutQuote(error.message) });
  const cause = error instanceof APIConnectionError ? (error.cause ?? error) : error;
  const reason = context.redact(errorText(cause)).slice(0, MAX_REASON_LENGTH);
  const status = error instanceof APIError ? (error.status as number | undefined) : undefined;
  return statusError(status, { model, reason, status });
}

/** The parser quotes some characters of the reply, among which half a secret may be, that no redactor would know. */
function withoutQuote(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s, '');
}

const STATUS_CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'LLM_AUTH_FAILED',
  402: 'LLM_INSUFFICIENT_CREDITS',
  403: 'LLM_AUTH_FAILED',
  404: 'LLM_MODEL_NOT_FOUND',
  408: 'LLM_UNAVAILABLE',
  409: 'LLM_UNAVAILABLE',
  429: 'LLM_RATE_LIMITED',
};

function statusError(
  status: number | undefined,
  details: { model: string; reason: string; status: number | undefined },
): RuntimeError {
  if (status === undefined || status >= 500) return new RuntimeError('LLM_UNAVAILABLE', details);
  // OpenRouter says "No endpoints found that support tool use" with a 404, and "not a valid model ID" with a 400.
  if (/support tool/i.test(details.reason)) return new RuntimeError('LLM_NO_TOOL_SUPPORT', details);
  if (status === 400 && /not a valid model|model.*not (found|exist)/i.test(details.reason)) {
    return new RuntimeError('LLM_MODEL_NOT_FOUND', details);
  }
  return new RuntimeError(STATUS_CODES[status] ?? 'LLM_BAD_REQUEST', details);
}

import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';

import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import type { Redact } from '../util/redact';
import { modelFailure } from './model-failure';

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
  const reason = context.redact(errorText(cause));
  const status = error instanceof APIError ? (error.status as number | undefined) : undefined;
  return modelFailure({ model, reason, status });
}

/** The parser quotes some characters of the reply, among which half a secret may be, that no redactor would know. */
function withoutQuote(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s, '');
}

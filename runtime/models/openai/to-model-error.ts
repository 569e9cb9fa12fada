import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';

import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import type { Redact } from '../../util/redaction/redact';
import { modelFailure } from '../model-failure';
import { SILENCE } from './silence';

/** What the openai client threw, as one of our LLM_ codes. Provider text is redacted and cut. */
export function toModelError(
  error: unknown,
  context: { readonly model: string; readonly silenceMs: number; readonly redact: Redact },
): RuntimeError {
  if (isRuntimeError(error)) return error;
  const { model } = context;
  if (error instanceof APIConnectionTimeoutError || (error instanceof APIError && error.type === SILENCE)) {
    return new RuntimeError('LLM_TIMEOUT', { timeoutSeconds: context.silenceMs / 1000 });
  }
  const cause = error instanceof APIConnectionError ? (error.cause ?? error) : error;
  const reason = context.redact(withoutPage(errorText(cause)));
  const status = error instanceof APIError ? (error.status as number | undefined) : undefined;
  return modelFailure({ model, reason, status });
}

const MAX_HEAD = 2000;

/** Proxies answer with a page: its title says what the rest of it only dresses up. */
function withoutPage(text: string): string {
  const start = text.search(/<(?:!doctype|html)\b/i);
  if (start === -1) return text;
  const title = /<title[^>]*>([^<]*)/i.exec(text.slice(start, start + MAX_HEAD))?.[1]?.trim();
  return `${text.slice(0, start)}an HTML page${title === undefined ? '' : `, "${title}"`}`;
}

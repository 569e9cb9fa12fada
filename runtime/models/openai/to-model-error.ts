import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';

import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { isJsonObject } from '../../util/json';
import type { Redact } from '../../util/redaction/redact';
import { withoutPage } from '../../util/text/error-words';
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
  const said = error instanceof APIError && isJsonObject(error.error) ? error.error : {};
  return modelFailure({ model, reason, status, kind: String(said.kind ?? '') });
}

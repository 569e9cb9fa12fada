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
  const answer = error instanceof APIError ? error : undefined;
  if (error instanceof APIConnectionTimeoutError || answer?.type === SILENCE) {
    return new RuntimeError('LLM_TIMEOUT', { timeoutSeconds: context.silenceMs / 1000 });
  }
  const cause = error instanceof APIConnectionError ? (error.cause ?? error) : error;
  const reason = context.redact(withoutPage(errorText(cause)));
  return modelFailure({ model, reason, status: answer?.status as number | undefined, kind: kindOf(answer?.error) });
}

/** The provider's own codes, as `readError` returns them. */
function kindOf(error: unknown): string | undefined {
  return isJsonObject(error) && typeof error.kind === 'string' ? error.kind : undefined;
}

import type { JsonObject } from '../../util/json';
import { words } from '../../util/text/words';
import { saysSomething } from './reply-error';

/** Message fields that the runtime reads itself, or that are output only. */
export const MESSAGE_FIELDS: ReadonlySet<string> = new Set(
  words(`role content name refusal tool_calls function_call reasoning reasoning_content reasoning_details annotations audio
    audio_content images citations context executed_tools logprobs parsed search_results __proto__`),
);
export const CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function', '__proto__']);
export const FUNCTION_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments', '__proto__']);

/** Returns the non-empty fields that only the provider understands, such as a signature. */
export function ownFields(object: JsonObject, known: ReadonlySet<string>): JsonObject {
  const own = Object.entries(object).filter(([key, value]) => !known.has(key) && saysSomething(value ?? null));
  return Object.fromEntries(own);
}

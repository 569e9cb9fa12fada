import { isJsonObject, type JsonValue } from '../../util/json';

/** Reports a thinking part (Mistral), which is not part of the answer. */
export function isThinking(part: JsonValue): boolean {
  return isJsonObject(part) && (part.type === 'thinking' || part.type === 'reasoning');
}

/** Returns the text that a part adds to the answer. */
export function textOfPart(part: JsonValue): string {
  return isJsonObject(part) && typeof part.text === 'string' && !isThinking(part) ? part.text : '';
}

import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

/** Reports a thinking part (Mistral), which is not part of the answer. */
export function isThinking(part: JsonValue): boolean {
  return isJsonObject(part) && (part.type === 'thinking' || part.type === 'reasoning');
}

/** Returns the text that a part adds to the answer. */
export function textOfPart(part: JsonValue): string {
  if (!isJsonObject(part) || isThinking(part)) return '';
  return [part.text, part.refusal].find((text) => typeof text === 'string') ?? '';
}

/** Returns the text of `content`, which is text or a list of parts; null for anything else. */
export function contentText(content: JsonValue | undefined): string | null {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? (content as JsonValue[]).map(textOfPart).join('') : null;
}

/** Separates a refusal from the text before it. */
export const REFUSAL_GAP = '\n\n';

/** Returns the text of a message, with the words of its refusal. */
export function textOfMessage({ content, refusal }: JsonObject): string | null {
  const text = contentText(content);
  if (typeof refusal !== 'string' || refusal === '') return text;
  return text === null || text === '' ? refusal : text + REFUSAL_GAP + refusal;
}

/** Reports a message in which the model declines, in `refusal` or in a part of its content (OpenAI). */
export function isRefusal({ content, refusal }: JsonObject): boolean {
  if (typeof refusal === 'string' && refusal !== '') return true;
  return (
    Array.isArray(content) && (content as JsonValue[]).some((part) => isJsonObject(part) && part.type === 'refusal')
  );
}

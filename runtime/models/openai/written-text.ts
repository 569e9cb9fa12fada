import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

/** Returns all that the model wrote in a reply: thinking, answer and calls; undefined for a reply without a message. */
export function writtenText({ choices }: JsonObject): string | undefined {
  const choice = Array.isArray(choices) ? (choices as JsonValue[])[0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) return undefined;
  const { content, refusal, reasoning, reasoning_content, reasoning_details, tool_calls } = choice.message;
  // Some providers send the same thinking in two fields.
  const thinking = [reasoning, reasoning_content, reasoning_details].map(textIn).find((text) => text !== '') ?? '';
  const calls = Array.isArray(tool_calls) ? (tool_calls as JsonValue[]).map(callText) : [];
  return [thinking, textIn(content), textIn(refusal), ...calls].filter((text) => text !== '').join('\n');
}

/** Returns the words of a text or of parts; what is encrypted has none. */
function textIn(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return (value as JsonValue[]).map(textIn).join('');
  if (!isJsonObject(value)) return '';
  return [value.text, value.thinking, value.summary, value.refusal].map(textIn).join('');
}

function callText(call: JsonValue): string {
  if (!isJsonObject(call) || !isJsonObject(call.function)) return '';
  const { name, arguments: input } = call.function;
  return `${textIn(name)} ${typeof input === 'string' ? input : JSON.stringify(input ?? {})}`;
}

import type { ToolDefinition } from '../../../contracts/tools/tool';

/** `tools[3]`, `tools.3.custom`; Google counts twice: `tools[0].function_declarations[3]`. */
const PLACE = /\btools(?:\[(\d{1,4})\]|\.(\d{1,4})\b(?!\.member))(?:\.function_?declarations\[(\d{1,4})\])?/gi;
/** OpenAI, Groq, Google and Mistral, in this order. */
const NAMES =
  /\bfor (?:function|tool) ['"`]?([\w.-]+)|because [`']?([\w.-]+)[`']? functiondeclaration|\bfunction name was ([\w.-]+)/gi;

/**
 * Returns the tools that a refusal names: by index, else in a phrase such as "for function x", else in quotation marks.
 * `isOfField`: the refusal names a request field, so quotation marks are ignored.
 */
export function namedTools(
  text: string,
  sent: readonly ToolDefinition[],
  isOfField: boolean,
): readonly ToolDefinition[] {
  const places = [...text.matchAll(PLACE)].map(([, bracket, dot, inner]) => {
    const outer = Number(bracket ?? dot);
    return outer === 0 && inner !== undefined ? Number(inner) : outer;
  });
  const byPlace = sent.filter((_tool, index) => places.includes(index));
  if (byPlace.length > 0) return byPlace;
  const names = new Set([...text.matchAll(NAMES)].flatMap((match) => match.slice(1)));
  const byName = sent.filter(({ name }) => names.has(name));
  if (byName.length > 0 || isOfField) return byName;
  return sent.filter(({ name }) => ["'", '"', '`'].some((mark) => text.includes(mark + name + mark)));
}

import type { ToolDefinition } from '../../../contracts/tools/tool';

/** `tools[3]`, `tools.3.custom`; Google counts twice: `tools[0].function_declarations[3]`. */
const PLACE = /\btools(?:\[(\d{1,4})\]|\.(\d{1,4})\b(?!\.member))(?:\.function_?declarations\[(\d{1,4})\])?/gi;
/** OpenAI and Groq, Google, Mistral. Only the first match before any brace counts, since the rest may quote a schema. */
const NAMES =
  /\bfor (?:function|tool) ['"`]?([\w.-]+)|because [`']?([\w.-]+)[`']? functiondeclaration|\bfunction name was ([\w.-]+)/i;

/** Returns the tools that a refusal names by index, else by a phrase such as "for function x". */
export function namedTools(text: string, sent: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const places = [...text.matchAll(PLACE)].map(([, bracket, dot, inner]) => {
    const outer = Number(bracket ?? dot);
    return outer === 0 && inner !== undefined ? Number(inner) : outer;
  });
  const byPlace = sent.filter((_tool, index) => places.includes(index));
  if (byPlace.length > 0) return byPlace;
  const [sentence = ''] = text.split('{');
  const names = NAMES.exec(sentence)?.slice(1) ?? [];
  return sent.filter(({ name }) => names.includes(name));
}

/** Returns the tools whose names are in quotation marks. */
export function quotedTools(text: string, sent: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return sent.filter(({ name }) => ["'", '"', '`'].some((mark) => text.includes(mark + name + mark)));
}

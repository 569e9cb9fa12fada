import type { ToolDefinition } from '../../../contracts/tools/tool-shapes';

/** `tools[3]`, `tools.3.custom`; Google counts twice: `tools[0].function_declarations[3]`. */
const INDEX = String.raw`\btools(?:\[(\d{1,4})\]|\.(\d{1,4})\b(?!\.member))(?:\.function_?declarations\[(\d{1,4})\])?`;
const PARAM = new RegExp(INDEX, 'i');
/** The beginning of a line, up to the place that a provider names: what follows may quote a schema. */
const PLACE = new RegExp(
  String.raw`^[\w .:*-]{0,120}?(?:Unknown name "[^"]*" at '|Invalid value at '|Invalid ')?(?:\w+\.)?` + INDEX,
  'i',
);
const MAX_LINES = 200;

/** OpenAI and Groq, Google, Mistral. Only the first match before any brace counts, since the rest may quote a schema. */
const NAMES =
  /\bfor (?:function|tool) ['"`]?([\w.-]+)|because [`']?([\w.-]+)[`']? functiondeclaration|\bfunction name was ([\w.-]+)/i;

/** Returns the tools that a refusal names: by an index in `param`, else in its words, else by a phrase such as "for function x". */
export function namedTools(
  { words, params }: { readonly words: string; readonly params: readonly string[] },
  sent: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const byParam = atPlaces(params, PARAM, sent);
  if (byParam.length > 0) return byParam;
  const byPlace = atPlaces(words.split('\n', MAX_LINES), PLACE, sent);
  if (byPlace.length > 0) return byPlace;
  const [sentence = ''] = words.split('{');
  const names = NAMES.exec(sentence)?.slice(1) ?? [];
  return sent.filter(({ name }) => names.includes(name));
}

function atPlaces(
  lines: readonly string[],
  pattern: RegExp,
  sent: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const places = lines.map((line) => {
    const [, bracket, dot, inner] = pattern.exec(line) ?? [];
    const outer = Number(bracket ?? dot);
    return outer === 0 && inner !== undefined ? Number(inner) : outer;
  });
  return sent.filter((_tool, index) => places.includes(index));
}

/** Returns the tools whose names are in quotation marks. */
export function quotedTools(text: string, sent: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return sent.filter(({ name }) => ["'", '"', '`'].some((mark) => text.includes(mark + name + mark)));
}

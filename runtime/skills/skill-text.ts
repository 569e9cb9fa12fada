const SKILL = /^\uFEFF?---[ \t]*\r?\n(?<frontMatter>[^]*?)(?<=\n)---[ \t]*(?:\r?\n(?<body>[^]*))?$/;

/** The YAML and the Markdown of SKILL.md; undefined YAML for a text that does not begin with it. */
export function splitSkill(content: string): { readonly frontMatter?: string; readonly body: string } {
  const { frontMatter, body = '' } = SKILL.exec(content)?.groups ?? { body: content };
  return { frontMatter, body: body.trim() };
}

const ARGUMENTS = '$ARGUMENTS';
/** No text is longer than what a skill may have, and its arguments. */
const MAX_FILLED = 250_000;

/**
 * Puts the arguments in place of each `$ARGUMENTS`, once: what they hold is not expanded again. A text without the word gets them
 * at its end. Throws an Error for what becomes too long.
 */
export function fillArguments(body: string, given: string): string {
  const places = body.split(ARGUMENTS);
  const length = body.length + Math.max(1, places.length - 1) * given.length;
  if (length > MAX_FILLED) throw new Error(`with these arguments it is longer than ${MAX_FILLED} characters`);
  if (places.length > 1) return places.join(given);
  return given === '' ? body : `${body}\n\nARGUMENTS: ${given}`;
}

import type { Filler } from '../util/variables/fill';

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
 * Puts variables in place of `{{name}}` and the arguments in place of each `$ARGUMENTS`, once: what they hold is not expanded again.
 * A text without the word gets them at its end. Throws an Error for what becomes too long.
 */
export function fillSkill(
  body: string,
  { given, filler }: { readonly given: string; readonly filler: Filler },
): string {
  const places = body.split(ARGUMENTS).map(filler.text);
  const filled = places.reduce((sum, { length }) => sum + length, 0);
  const length = filled + Math.max(1, places.length - 1) * given.length;
  if (length > MAX_FILLED)
    throw new Error(`with its arguments and variables it is longer than ${MAX_FILLED} characters`);
  if (places.length > 1) return places.join(given);
  const [text = ''] = places;
  return given === '' ? text : `${text}\n\nARGUMENTS: ${given}`;
}

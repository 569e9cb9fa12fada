const SKILL = /^\uFEFF?---[ \t]*\r?\n(?<frontMatter>[^]*?)(?<=\n)---[ \t]*(?:\r?\n(?<body>[^]*))?$/;

/** The YAML and the Markdown of SKILL.md; undefined YAML for a text that does not begin with it. */
export function splitSkill(content: string): { readonly frontMatter?: string; readonly body: string } {
  const { frontMatter, body = '' } = SKILL.exec(content)?.groups ?? { body: content };
  return { frontMatter, body: body.trim() };
}

const ARGUMENTS = '$ARGUMENTS';

/**
 * Puts the arguments in place of each `$ARGUMENTS`, once: what they hold is not expanded again. A text without the word gets them
 * at its end.
 */
export function fillArguments(body: string, given: string): string {
  if (body.includes(ARGUMENTS)) return body.replaceAll(ARGUMENTS, () => given);
  return given === '' ? body : `${body}\n\nARGUMENTS: ${given}`;
}

/** What ends a line for any reader, and what no name needs; names come from files of strangers. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/g;
const MAX_SHOWN = 120;

/** A name within a line of text. */
export function showName(name: string): string {
  const line = name.replace(CONTROL, ' ').toWellFormed().trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1).toWellFormed()}…` : line;
}

/** A name within Markdown: nothing in it is markup. */
export function showInMarkdown(name: string): string {
  return showName(name).replace(/[\\`*_{}[\]()<>#+!|~&$:@-]/g, (mark) => ENTITIES[mark] ?? `\\${mark}`);
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' };

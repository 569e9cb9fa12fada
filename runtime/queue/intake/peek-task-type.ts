const [QUOTE, BACKSLASH, COLON] = Buffer.from('"\\:');
const DEPTH = new Map(Array.from('{}[]', (mark, index) => [mark.charCodeAt(0), index % 2 === 0 ? 1 : -1]));
const SPACES: readonly (number | undefined)[] = [...Buffer.from(' \t\r\n')];
/** The most bytes of a name or a type; longer ones are none that we look for. */
const MAX_BYTES = 1000;

/**
 * The `task_type` of a task, found without parsing it: what is read costs no memory, however it is built. Undefined
 * when there is none that is a text. Of text that is no JSON it may tell one all the same.
 */
export function peekTaskType(json: Buffer): string | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    depth += DEPTH.get(json[at] ?? 0) ?? 0;
    if (json[at] !== QUOTE) continue;
    const end = endOfText(json, at);
    const colon = skipSpaces(json, end);
    if (depth === 1 && json[colon] === COLON && textOf(json, at, end) === 'task_type') {
      const value = skipSpaces(json, colon + 1);
      return json[value] === QUOTE ? textOf(json, value, endOfText(json, value)) : undefined;
    }
    at = end - 1;
  }
  return undefined;
}

/** Just behind the quotation mark that ends the text. */
function endOfText(json: Buffer, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function skipSpaces(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && SPACES.includes(json[at])) at++;
  return at;
}

function textOf(json: Buffer, from: number, end: number): string | undefined {
  if (end - from > MAX_BYTES) return undefined;
  try {
    return JSON.parse(json.toString('utf8', from, end)) as string;
  } catch {
    return undefined;
  }
}

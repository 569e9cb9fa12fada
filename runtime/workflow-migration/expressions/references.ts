/** Where a piece of code names a node: `$('AI Agent')`, `$node["AI Agent"]`, `$node.Agent`, `$items("AI Agent")`. */
export interface NodeReference {
  readonly name: string;
  readonly style: 'call' | 'node' | 'items';
  /** Where the name stands, and its quotes when it has some. */
  readonly start: number;
  readonly end: number;
  /** Undefined for a name without quotes, after a dot. */
  readonly quote?: string;
  /** What is read of the node: the text that follows. */
  readonly reads: string;
}

/** A reference and the node whose parameters hold it. */
export interface FoundReference extends NodeReference {
  readonly from: string;
}

const OPENING = /\$(?<opening>\(|node\s*\[|items\s*\()\s*(?<quote>\\*["'`])/g;
const DOTTED = /\$node\.(?<name>[\p{L}_$][\p{L}\p{N}_$]*)/gu;
const MAX_READS = 200;
const STYLES: Readonly<Record<string, NodeReference['style']>> = { '(': 'call', n: 'node', i: 'items' };

/** Every naming of a node in a text, in order. The text may itself stand within quotes, so that all quotes are escaped. */
export function findReferences(text: string): readonly NodeReference[] {
  if (!text.includes('$')) return [];
  return [...quotedReferences(text), ...dottedReferences(text)].sort((one, other) => one.start - other.start);
}

function quotedReferences(text: string): readonly NodeReference[] {
  return Array.from(text.matchAll(OPENING), (match) => readQuoted(text, match)).filter((found) => found !== undefined);
}

function readQuoted(text: string, match: RegExpMatchArray): NodeReference | undefined {
  const { opening = '', quote = '' } = match.groups ?? {};
  const style = STYLES[opening.slice(0, 1)] ?? 'call';
  const start = (match.index ?? 0) + match[0].length;
  const end = closingOf(text, start, quote);
  if (end === -1) return undefined;
  const after = text.slice(end + quote.length, end + quote.length + MAX_READS);
  // `$items` takes more arguments than the name.
  const closed = (style === 'items' ? /^\s*[),]/ : /^\s*[\])]/).exec(after)?.[0];
  if (closed === undefined) return undefined;
  const name = unescapeName(text.slice(start, end), quote.length);
  return {
    name,
    style,
    start: start - quote.length,
    end: end + quote.length,
    quote,
    reads: after.slice(closed.length),
  };
}

/** Where the same quote comes again with as many backslashes before it; with more of them it belongs to the name. */
function closingOf(text: string, start: number, quote: string): number {
  const backslashes = quote.length - 1;
  const mark = quote.slice(-1);
  for (let at = text.indexOf(mark, start); at !== -1; at = text.indexOf(mark, at + 1)) {
    let run = 0;
    while (at - run - 1 >= start && text[at - run - 1] === '\\') run++;
    if (run === backslashes || (run > backslashes && isEscapedBackslash(run - backslashes, backslashes)))
      return at - backslashes;
  }
  return -1;
}

/** Whether so many backslashes are escaped ones at the end of the name, and do not escape the quote. */
function isEscapedBackslash(count: number, backslashes: number): boolean {
  return count % (2 * (backslashes + 1)) === 0;
}

function dottedReferences(text: string): readonly NodeReference[] {
  return Array.from(text.matchAll(DOTTED), (match) => {
    const name = match.groups?.name ?? '';
    const end = match.index + match[0].length;
    return { name, style: 'node', start: end - name.length - 1, end, reads: text.slice(end, end + MAX_READS) };
  });
}

/** Once for the code, and once more for every text that the code stands in: each doubles the backslashes and adds one. */
function unescapeName(name: string, quoteLength: number): string {
  let plain = name;
  for (let left = quoteLength; left >= 1; left = Math.floor(left / 2)) plain = unescapeOnce(plain);
  return plain;
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function unescapeOnce(text: string): string {
  return text.replace(
    /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([^]))/gi,
    (_match, ...groups: string[]) => {
      const [long, short, byte, char] = groups as (string | undefined)[];
      const code = parseInt(long ?? short ?? byte ?? '', 16);
      if (Number.isNaN(code)) return ESCAPES[char ?? ''] ?? char ?? '';
      return code <= 0x10ffff ? String.fromCodePoint(code) : '';
    },
  );
}

/**
 * The same text with other nodes named.
 *
 * @param renames the new names, by the old ones; they must hold no quotes and no backslashes
 */
export function renameReferences(text: string, renames: ReadonlyMap<string, string>): string {
  let renamed = '';
  let done = 0;
  for (const { name, start, end, quote } of findReferences(text)) {
    const to = renames.get(name);
    if (to === undefined || start < done) continue;
    renamed += text.slice(done, start) + (quote === undefined ? `['${to}']` : `${quote}${to}${quote}`);
    done = end;
  }
  return renamed + text.slice(done);
}

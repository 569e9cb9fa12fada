/** A piece of an n8n expression: text as it stands, or what is computed. */
export interface Piece {
  readonly kind: 'text' | 'code';
  readonly text: string;
}

/**
 * The pieces of a parameter that begins with `=`, read as n8n reads them; `\{{` opens nothing.
 * Undefined for what n8n cannot read either: braces that are never closed.
 */
export function splitExpression(parameter: string): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let rest = parameter.slice(1);
  let kept = '';
  while (rest !== '') {
    const open = findUnescaped(rest, '{{');
    if (open.isEscaped) kept += rest.slice(0, open.end);
    else if (open.start === -1) break;
    else {
      const code = readCode(rest.slice(open.end));
      if (code === undefined) return undefined;
      addText(pieces, (kept + rest.slice(0, open.start)).replaceAll('\\\\', '\\'));
      kept = '';
      pieces.push({ kind: 'code', text: code.text });
      rest = code.rest;
      continue;
    }
    rest = rest.slice(open.end);
  }
  addText(pieces, kept + rest);
  return pieces;
}

function readCode(text: string): { readonly text: string; readonly rest: string } | undefined {
  let kept = '';
  let rest = text;
  for (;;) {
    const close = findUnescaped(rest, '}}');
    if (close.start === -1) return undefined;
    if (!close.isEscaped) return { text: kept + rest.slice(0, close.start), rest: rest.slice(close.end) };
    kept += rest.slice(0, close.start - 1) + '}}';
    rest = rest.slice(close.end);
  }
}

function findUnescaped(text: string, brackets: string): { start: number; end: number; isEscaped: boolean } {
  const start = text.indexOf(brackets);
  if (start === -1) return { start, end: text.length, isEscaped: false };
  let backslashes = 0;
  while (text[start - backslashes - 1] === '\\') backslashes++;
  return { start, end: start + brackets.length, isEscaped: backslashes % 2 === 1 };
}

function addText(pieces: Piece[], text: string): void {
  if (text !== '') pieces.push({ kind: 'text', text });
}

/** Code without the semicolons at its end, which n8n cuts off. */
export function trimCode(code: string): string {
  let end = code.length;
  while (end > 0 && /[;\s]/.test(code.charAt(end - 1))) end--;
  return code.slice(0, end).trimStart();
}

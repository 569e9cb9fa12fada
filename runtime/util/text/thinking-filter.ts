import type { TextStream } from './replace-in-pieces';

/** A mark, or the beginning of one at the end of the text. */
const MARK = /<(?:\/?think(?:ing)?>|\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:ng?)?)?)?)?)?)?)?$)/gi;
const ENDING = /<\/think(?:ing)?>/i;
const LONGEST_ENDING = '</thinking>'.length;

/**
 * `stripThinking` for a text that comes in pieces. Where a chat template opened the thinking in the prompt, so that only
 * its end is in the text, what comes before it has been shown.
 */
export function createThinkingFilter(): TextStream {
  const show = createTrim();
  /** The beginning of a possible mark. */
  let held = '';
  let thinking: Thinking | undefined;
  const push = (piece: string): string => {
    let text = held + piece;
    let shown = '';
    held = '';
    for (;;) {
      const rest = thinking === undefined ? text : thinking.skip(text);
      if (rest === undefined) return shown;
      thinking = undefined;
      MARK.lastIndex = 0;
      const mark = MARK.exec(rest);
      shown += show(rest.slice(0, mark?.index));
      if (mark === null) return shown;
      if (!mark[0].endsWith('>')) held = mark[0];
      else if (!mark[0].startsWith('</')) thinking = openThinking(mark[0]);
      text = rest.slice(mark.index + mark[0].length);
    }
  };
  // Unclosed thinking is dropped at the beginning of a text and kept within it, as in `stripThinking`.
  const end = (): string => (thinking === undefined ? show(held) : show.hasBegun() ? show(thinking.text()) : '');
  return { push, end };
}

interface Thinking {
  /** Returns the text behind its end, or undefined while it is open. */
  readonly skip: (piece: string) => string | undefined;
  readonly text: () => string;
}

function openThinking(mark: string): Thinking {
  // Concatenated only when read: reading it at every piece would copy all of it.
  let all = mark;
  let searched = '';
  return {
    skip: (piece) => {
      const text = searched + piece;
      const ending = ENDING.exec(text);
      if (ending !== null) return text.slice(ending.index + ending[0].length);
      all += piece;
      searched = text.slice(1 - LONGEST_ENDING);
      return undefined;
    },
    text: () => all,
  };
}

/** Trims a text in pieces: white space is returned once text follows it. */
function createTrim(): { (piece: string): string; readonly hasBegun: () => boolean } {
  let spaces = '';
  let hasBegun = false;
  const show = (piece: string): string => {
    const visible = piece.trimEnd();
    const shown = visible === '' ? '' : hasBegun ? spaces + visible : visible.trimStart();
    if (visible !== '') [hasBegun, spaces] = [true, ''];
    if (hasBegun) spaces += piece.slice(visible.length);
    return shown;
  };
  return Object.assign(show, { hasBegun: () => hasBegun });
}

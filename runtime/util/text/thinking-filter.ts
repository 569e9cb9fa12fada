import type { TextStream } from './replace-in-pieces';

/** A mark, or at the end of a text what may become one. */
const MARK = /<(?:\/?think(?:ing)?>|\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:ng?)?)?)?)?)?)?)?$)/gi;
const ENDING = /<\/think(?:ing)?>/i;
const LONGEST_ENDING = '</thinking>'.length;

/**
 * `stripThinking` for a text that comes in pieces. Where a chat template opened the thinking in the prompt, so that only
 * its end is in the text, what comes before it has been shown.
 */
export function createThinkingFilter(): TextStream {
  const show = createTrim();
  /** What may become a mark. */
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
  // Thinking that was cut off leaves nothing where it begins the text; within a text the mark is a word like others.
  const end = (): string => (thinking === undefined ? show(held) : show.hasBegun() ? show(thinking.text()) : '');
  return { push, end };
}

interface Thinking {
  /** What comes behind it; undefined while it goes on. */
  readonly skip: (piece: string) => string | undefined;
  readonly text: () => string;
}

function openThinking(mark: string): Thinking {
  // Not read before its end, which would put all of it together for each piece.
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

/** `trim` for a text that comes in pieces: white space is shown when something follows it. */
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

const OPENING = /^<think(?:ing)?>/i;
const ENDING = /<\/think(?:ing)?>/i;
const LONE_ENDING = /^<\/think(?:ing)?>/i;
const MARKS = ['<thinking>', '</thinking>', '<think>', '</think>'];
const LONGEST_ENDING = '</thinking>'.length;

interface ThinkingFilter {
  /** What of the text so far may be shown, and was not yet. */
  readonly push: (piece: string) => string;
  /** The rest of it, once the text is whole. */
  readonly end: () => string;
}

/**
 * `stripThinking` for a text that comes in pieces. Where a chat template opened the thinking in the prompt, so that only
 * its end is in the text, what comes before it has been shown.
 */
export function createThinkingFilter(): ThinkingFilter {
  let held = '';
  let hasBegun = false;
  // Of a thinking that is open: so much of it holds no end.
  let searched = 0;

  const take = (length: number): string => {
    const taken = held.slice(0, length);
    held = held.slice(length);
    hasBegun ||= taken !== '';
    return taken;
  };
  /** Whether it went on; false: the rest has to wait. */
  const skipThinking = (): boolean => {
    const rest = held.slice(searched);
    const ending = ENDING.exec(rest);
    if (ending === null) {
      searched = Math.max(0, held.length - LONGEST_ENDING);
      return false;
    }
    held = rest.slice(ending.index + ending[0].length);
    searched = 0;
    return true;
  };
  const push = (piece: string): string => {
    held += piece;
    let shown = '';
    for (;;) {
      if (!hasBegun) held = held.trimStart();
      const mark = held.indexOf('<');
      // White space at the end may be that of the whole text.
      if (mark === -1) return shown + take(held.trimEnd().length);
      if (mark > 0) shown += take(mark);
      if (OPENING.test(held)) {
        if (!skipThinking()) return shown;
      } else if (LONE_ENDING.test(held)) held = held.replace(LONE_ENDING, '');
      else if (MARKS.some((one) => one.startsWith(held.toLowerCase()))) return shown;
      else shown += take(1);
    }
  };
  return {
    push,
    // Thinking that was cut off leaves nothing where it begins the text; within a text the mark is a word like others.
    end: () => (!hasBegun && OPENING.test(held) ? '' : take(held.trimEnd().length)),
  };
}

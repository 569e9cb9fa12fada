/** Transforms a text in pieces: `push` returns the part that is decided, `end` the rest. */
export interface TextStream {
  readonly push: (piece: string) => string;
  readonly end: () => string;
}

export interface Occurrence {
  readonly start: number;
  readonly end: number;
}

interface Replacing {
  /** Returns the first occurrence that begins in `from` to `before`; may look `LOOK_BEHIND` characters back. */
  readonly find: (text: string, from: number, before: number) => Occurrence | undefined;
  /**
   * Takes the next piece and returns how many characters at the end of the text so far may belong to an occurrence that more
   * text would complete or extend. Counting too many only delays them.
   */
  readonly undecided: (piece: string) => number;
  readonly replacement: string;
}

/** Length of the text before an occurrence that `find` may look at. */
const LOOK_BEHIND = 160;

/** Replaces the same occurrences in a text in pieces as in the whole text. Each place is searched once. */
export function replaceInPieces({ find, undecided, replacement }: Replacing): TextStream {
  let before = '';
  let held = '';
  const tell = (open: number): string => {
    if (open >= held.length) return '';
    const text = before + held;
    const border = text.length - open;
    let shown = '';
    let done = before.length;
    for (let found = find(text, done, border); found !== undefined; found = find(text, done, border)) {
      shown += text.slice(done, found.start) + replacement;
      done = found.end;
    }
    const end = Math.max(done, border);
    shown += text.slice(done, end);
    before = text.slice(Math.max(0, end - LOOK_BEHIND), end);
    held = text.slice(end);
    return shown;
  };
  return {
    push: (piece) => {
      held += piece;
      return tell(undecided(piece));
    },
    end: () => tell(0),
  };
}

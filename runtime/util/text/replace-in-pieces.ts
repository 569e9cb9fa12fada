/** A text in pieces: what of it may be handed on after each piece, and the rest at its end. */
export interface TextStream {
  readonly push: (piece: string) => string;
  readonly end: () => string;
}

export interface Occurrence {
  readonly start: number;
  readonly end: number;
}

interface Replacing {
  /** The first occurrence that begins at `from` or later and before `before`. Only what stands `LOOK_BEHIND` before it counts. */
  readonly find: (text: string, from: number, before: number) => Occurrence | undefined;
  /**
   * Takes the next piece, and tells how many characters at the end of all pieces so far may belong to an occurrence that is not
   * decided yet. Too many do no harm.
   */
  readonly undecided: (piece: string) => number;
  readonly replacement: string;
}

/** So many characters before an occurrence may decide whether it is one. */
export const LOOK_BEHIND = 160;

/** Replaces in a text that comes in pieces just what would be replaced in the whole. Each place is looked at once. */
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

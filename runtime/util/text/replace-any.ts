import { type Occurrence, replaceInPieces, type TextStream } from './replace-in-pieces';

interface Replace {
  (text: string): string;
  readonly stream: () => TextStream;
}

/**
 * A function that replaces each occurrence of any of the words, of several that begin at the same place the longest; its
 * `stream` does the same with a text that comes in pieces. Words have two characters at least.
 */
export function replaceAny(words: readonly string[], replacement: string): Replace {
  const find = createFinder(words);
  const replace = (text: string): string => {
    let [clean, done] = ['', 0];
    for (let found = find(text, 0, text.length); found !== undefined; found = find(text, done, text.length)) {
      clean += text.slice(done, found.start) + replacement;
      done = found.end;
    }
    return done === 0 ? text : clean + text.slice(done);
  };
  let beginnings: ReturnType<typeof createBeginnings> | undefined;
  const stream = (): TextStream => {
    beginnings ??= createBeginnings(words);
    return replaceInPieces({ find, undecided: beginnings(), replacement });
  };
  return Object.assign(replace, { stream });
}

/** Pairs of characters are hashed to this many numbers; a collision only costs a second look. */
const SLOTS = 4096;

/**
 * Looks at every few characters only, however many words there are (the way of Wu and Manber): the shorter the shortest
 * word, the more.
 */
function createFinder(
  words: readonly string[],
): (text: string, from: number, before: number) => Occurrence | undefined {
  const width = Math.min(...words.map(({ length }) => length));
  const last = width - 2;
  // How far to go on from a pair that is not the last one of any word's beginning.
  const steps = new Uint8Array(SLOTS).fill(Math.min(width - 1, 255));
  for (const word of words) {
    for (let at = 0; at <= last; at++) {
      const slot = slotOf(word, at);
      steps[slot] = Math.min(steps[slot] ?? 0, last - at);
    }
  }
  const endingIn = Map.groupBy([...new Set(words)].sort(byCode), (word) => slotOf(word, last));
  return (text, from, before) => {
    const end = Math.min(before + last, text.length - 1);
    for (let at = from + last; at < end;) {
      const slot = slotOf(text, at);
      const step = steps[slot] ?? 0;
      const start = at - last;
      const length = step > 0 ? 0 : longestAt(endingIn.get(slot) ?? [], text, start);
      if (length > 0) return { start, end: start + length };
      at += Math.max(step, 1);
    }
    return undefined;
  };
}

function slotOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 61 + text.charCodeAt(at + 1)) % SLOTS;
}

function byCode(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The length of the longest of the words, which are sorted, that stands there; 0: none. Words that begin alike are read once. */
function longestAt(words: readonly string[], text: string, start: number): number {
  let [first, end, longest] = [0, words.length, 0];
  for (let length = 0; first < end; length++) {
    if (words[first]?.length === length) {
      longest = length;
      first++;
    }
    if (start + length === text.length) break;
    const code = text.charCodeAt(start + length);
    first = firstFrom(words, { length, first, end }, code);
    end = firstFrom(words, { length, first, end }, code + 1);
  }
  return longest;
}

/**
 * How many characters at the end of a text a word may go on from: for each text, a function that takes its pieces (the automaton
 * of Aho and Corasick, whose states are made when a text comes to them).
 */
function createBeginnings(words: readonly string[]): () => (piece: string) => number {
  const sorted = [...new Set(words)].sort(byCode);
  const longest = Math.max(...sorted.map(({ length }) => length));
  return () => {
    // They go with the text: one that quotes many secrets makes many.
    const root: State = { length: 0, first: 0, end: sorted.length, next: new Map(), shorter: undefined };
    const after = (from: State, code: number): State => {
      let state: State | undefined = from;
      let next = stateAfter(sorted, state, code);
      while (next === undefined && (state = state.shorter) !== undefined) next = stateAfter(sorted, state, code);
      if (next === undefined) return root;
      next.shorter ??= state?.shorter === undefined ? root : after(state.shorter, code);
      return next;
    };
    let state = root;
    return (piece) => {
      // What comes before that many characters begins nothing that is still open.
      const from = Math.max(0, piece.length - longest + 1);
      if (from > 0) state = root;
      for (let at = from; at < piece.length; at++) state = after(state, piece.charCodeAt(at));
      while (state.first === state.end && state.shorter !== undefined) state = state.shorter;
      return state.length;
    };
  };
}

/** A beginning of words, the longest that a text ends with. */
interface State {
  readonly length: number;
  /** The words that go on from here, in their sorted list. */
  readonly first: number;
  readonly end: number;
  readonly next: Map<number, State>;
  /** That of the longest shorter beginning that the text ends with too. */
  shorter: State | undefined;
}

function stateAfter(words: readonly string[], { length, first, end, next }: State, code: number): State | undefined {
  const known = next.get(code);
  if (known !== undefined) return known;
  const begin = firstFrom(words, { length, first, end }, code);
  const stop = firstFrom(words, { length, first: begin, end }, code + 1);
  if (begin === stop) return undefined;
  // A word that ends here is the first of those that begin alike.
  const isWhole = words[begin]?.length === length + 1;
  const made = { length: length + 1, first: begin + Number(isWhole), end: stop, next: new Map(), shorter: undefined };
  next.set(code, made);
  return made;
}

/** The first of the sorted words, which are alike so far, whose next character has that code or a higher one. */
function firstFrom(
  words: readonly string[],
  { length, first, end }: Pick<State, 'length' | 'first' | 'end'>,
  code: number,
): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle]?.charCodeAt(length) ?? 0) < code) low = middle + 1;
    else high = middle;
  }
  return low;
}

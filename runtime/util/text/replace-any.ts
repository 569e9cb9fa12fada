import { type Occurrence, replaceInPieces, type TextStream } from './replace-in-pieces';

interface Replace {
  (text: string): string;
  readonly stream: () => TextStream;
}

/**
 * Returns a function that replaces each occurrence of any of the words, the longest of those that begin at one place. Its `stream`
 * does the same with a text in pieces. Words have at least two characters.
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

/** Finds the first word (Wu and Manber): examines every few characters, fewer the longer the shortest word is. */
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

/** Returns the length of the longest of the sorted words at `start`, or 0. A common beginning is compared once. */
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
 * Returns, for each text, a function that takes its pieces and returns the length of the longest beginning of a word at the end so
 * far (Aho and Corasick, with states created on first use).
 */
function createBeginnings(words: readonly string[]): () => (piece: string) => number {
  const sorted = [...new Set(words)].sort(byCode);
  const longest = Math.max(...sorted.map(({ length }) => length));
  return () => {
    // States live as long as the text: one that quotes many secrets creates many.
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
      // A word that began earlier would have ended by now.
      const from = Math.max(0, piece.length - longest + 1);
      if (from > 0) state = root;
      for (let at = from; at < piece.length; at++) state = after(state, piece.charCodeAt(at));
      while (state.first === state.end && state.shorter !== undefined) state = state.shorter;
      return state.length;
    };
  };
}

/** The longest beginning of words that a text ends with. */
interface State {
  readonly length: number;
  /** The range of the sorted words that are longer and begin so. */
  readonly first: number;
  readonly end: number;
  readonly next: Map<number, State>;
  /** The state of the next shorter beginning at the same end. */
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

/** Returns the first word in the range whose character at `length` has this code or a higher one. */
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

import { type JsonValue, tryParseJson } from '../json';

const FENCE = '```';
/** The name of a language after the fence. */
const LANGUAGE = /^[a-z]*/i;
const DEPTH: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };
/** The most characters that may be read without finding any: prose full of brackets, or a model that was talked into writing it. */
const MAX_WASTED = 300_000;
/** What each try costs, a failed one beside its length. */
const PRICE_OF_A_TRY = 100;

/**
 * The JSON values of a text in the order in which they are to be tried: all of it, or else what stands in fences, then every
 * object or array in the prose, outermost only.
 */
export function* findJson(text: string): Generator<JsonValue> {
  const whole = [...parsed(text)];
  yield* whole;
  if (whole.length > 0) return;
  let wasted = 0;
  for (const { tried, found } of tries(text)) {
    yield* found;
    wasted += PRICE_OF_A_TRY + (found.length === 0 ? tried : 0);
    if (wasted > MAX_WASTED) return;
  }
}

interface Try {
  /** Characters. */
  readonly tried: number;
  /** One value or none. */
  readonly found: readonly JsonValue[];
}

function* tries(text: string): Generator<Try> {
  for (const inside of fenced(text)) yield { tried: inside.length, found: [...parsed(inside)] };
  for (let from = nextBracket(text, 0); from >= 0;) {
    const end = endOfBlock(text, from);
    const found = end === undefined ? [] : [...parsed(text.slice(from, end))];
    yield { tried: (end ?? text.length) - from, found };
    from = nextBracket(text, end !== undefined && found.length > 0 ? end : from + 1);
  }
}

/** What stands between fences, in one pass over the text. */
function* fenced(text: string): Generator<string> {
  for (let start = text.indexOf(FENCE); start >= 0;) {
    const end = text.indexOf(FENCE, start + FENCE.length);
    if (end < 0) return;
    yield text.slice(start + FENCE.length, end).replace(LANGUAGE, '');
    start = text.indexOf(FENCE, end + FENCE.length);
  }
}

function* parsed(text: string): Generator<JsonValue> {
  const result = tryParseJson(text.trim());
  if (result.ok) yield result.value;
}

function nextBracket(text: string, from: number): number {
  const places = [text.indexOf('{', from), text.indexOf('[', from)].filter((place) => place >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** Where the block that begins at `from` ends, brackets in texts aside; undefined when it does not. */
function endOfBlock(text: string, from: number): number | undefined {
  let depth = 0;
  let isInText = false;
  for (let at = from; at < text.length; at++) {
    const mark = text[at];
    if (isInText && mark === '\\') at++;
    else if (mark === '"') isInText = !isInText;
    else if (!isInText) depth += DEPTH[mark ?? ''] ?? 0;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

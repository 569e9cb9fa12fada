/**
 * Returns a function that takes the pieces of a text in order. It returns how many characters at the end so far may begin a match
 * of `SECRET_FORMS`, or belong to one that may still grow. It may count too many, which only delays them, but never too few.
 */
export function openForms(): (piece: string) => number {
  const tokens = watchTokens();
  const watches = [watchNumbers(), watchSchemes(), watchPasswords(PLAIN), watchPasswords(QUOTED), watchKeys()];
  let before = '';
  let ofToken = 0;
  let others = 0;
  return (piece) => {
    const text = before + piece;
    for (let at = before.length; at < text.length; at++) {
      if (others === 0) at = ofToken > 0 ? tokens.skip(text, at) : nextBeginning(text, at);
      if (at === text.length) break;
      ofToken = tokens.take(text, at);
      others = 0;
      for (const watch of watches) {
        const open = watch(text, at);
        if (open > others) others = open;
      }
    }
    before = text.slice(-BEFORE);
    return Math.max(tokens.open(), others);
  };
}

/**
 * Takes the character at `at` and returns how many characters up to it are open. While it returns 0 it keeps no state: the next
 * character is judged by the text before it.
 */
type Watch = (text: string, at: number) => number;

/** Length of the text before a character that a watch may look at. */
const BEFORE = 128;

const HEADS = [
  'sk-',
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'AKIA', 'ASIA', 'AIza', 'github_pat_', 'eyJ'],
  ...['p', 'o', 'u', 's', 'r'].map((kind) => `gh${kind}_`),
  ...['a', 'b', 'p', 'o', 's', 'r'].map((kind) => `xox${kind}-`),
];

/** Places at which a watch may begin to count. */
const BEGINNING = new RegExp(
  [
    '-',
    String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))(?:[sr](?=k|$)|A(?=[KSI]|$)|g(?=[hi]|$)|x(?=o|$)|e(?=y|$))`,
    String.raw`(?<!\d)\d(?=\d{7}|\d*$)`,
    String.raw`(?<=(?:earer|EARER|asic|ASIC) |:|%3A)\S`,
  ].join('|'),
  'g',
);

function nextBeginning(text: string, at: number): number {
  BEGINNING.lastIndex = at;
  return BEGINNING.exec(text)?.index ?? text.length;
}

interface WatchTokens {
  readonly take: Watch;
  /** Skips characters that only continue the token; returns the place behind them. */
  readonly skip: (text: string, at: number) => number;
  readonly open: () => number;
}

/** Follows keys and tokens: one of the heads, then token characters to any length. */
function watchTokens(): WatchTokens {
  let heads: readonly string[] = [];
  let length = 0;
  const open = (): number => length || (heads[0]?.length ?? 0);
  const take = (text: string, at: number): number => {
    const code = text.charCodeAt(at);
    if (length > 0) return (length = isPartOfToken(code) ? length + 1 : 0);
    if (heads.length > 0) heads = heads.map((head) => head + text.charAt(at)).filter(isHead);
    if (isFirst(code) && mayBegin(text, at)) heads = [...heads, text.charAt(at)];
    const whole = heads.find((head) => HEADS.includes(head));
    if (whole !== undefined) [heads, length] = [[], whole.length];
    return open();
  };
  const skip = (text: string, at: number): number => {
    if (length === 0) return at;
    REST_OF_TOKEN.lastIndex = at;
    const skipped = REST_OF_TOKEN.exec(text)?.[0].length ?? 0;
    length += skipped;
    return at + skipped;
  };
  return { take, skip, open };
}

/** Token characters at which no other watch begins. */
const REST_OF_TOKEN = /(?:(?<!:|%3A)[\w.])*/y;
const isPartOfToken = among(/[\w.%:-]/);
const isFirst = among(new RegExp(`[${HEADS.map((head) => head.charAt(0)).join('')}]`));
const isHead = (text: string): boolean => HEADS.some((head) => head.startsWith(text));

function mayBegin(text: string, at: number): boolean {
  const last = text.charAt(at - 1);
  return !/[A-Za-z0-9]/.test(last) || (/[bfnrt]/.test(last) && text.charAt(at - 2) === '\\');
}

/** Follows tokens of Telegram: a number, a colon, token characters. */
function watchNumbers(): Watch {
  let digits = 0;
  let length = 0;
  return (text, at) => {
    const code = text.charCodeAt(at);
    if (length > 0 || (digits >= 8 && isColon(code))) {
      length = isPartOfToken(code) ? (length || digits) + 1 : 0;
      digits = 0;
      return length;
    }
    const isBehind = digits > 0 || !isDigit(text.charCodeAt(at - 1));
    digits = isBehind && isDigit(code) ? (digits + 1) % (MOST_DIGITS + 1) : 0;
    return digits;
  };
}

const MOST_DIGITS = 10;
const isDigit = among(/\d/);
const isColon = among(/[:%]/);

/** Follows credentials behind "Bearer" or "Basic". */
function watchSchemes(): Watch {
  let length = 0;
  return (text, at) => {
    if (length === 0 && text.charCodeAt(at - 1) !== SPACE) return 0;
    const isBehind = length > 0 || /(?:[Bb]earer|BEARER|[Bb]asic|BASIC) $/.test(text.slice(Math.max(0, at - 7), at));
    return (length = isBehind && isPartOfCredentials(text.charCodeAt(at)) ? length + 1 : 0);
  };
}

const SPACE = 32;
const isPartOfCredentials = among(/[\w.~+/\\=-]/);

interface Address {
  /** The last character before a password. */
  readonly last: string;
  readonly before: RegExp;
  readonly password: RegExp;
}

const PLAIN: Address = { last: ':', before: /:\\?\/\\?\/[^\s/:@]{0,100}:$/, password: /^[^\s/@"<>]{1,200}$/ };

const QUOTED: Address = {
  last: 'A',
  before: /%3A%2F%2F[^\s&%]{0,100}%3A$/,
  password: /^[^\s&%]{0,200}(?:%4?)?$/,
};

/** Follows the password in an address. */
function watchPasswords({ last, before, password }: Address): Watch {
  let secret = '';
  return (text, at) => {
    if (secret === '') {
      const isBehind = text.charAt(at - 1) === last && before.test(text.slice(Math.max(0, at - BEFORE + 1), at));
      if (!isBehind) return 0;
    }
    secret += text.charAt(at);
    if (!password.test(secret)) secret = '';
    return secret.length;
  };
}

const KEY_WORDS = 'PRIVATE KEY-----';
const MARKERS = ['-----BEGIN ', '-----END '];

/** Follows a private key from its BEGIN line to its END line, or to a character that no key contains. */
function watchKeys(): Watch {
  let length = 0;
  let marker = NO_MARKER;
  return (text, at) => {
    if (length === 0 && marker === NO_MARKER && text.charCodeAt(at) !== DASH_CODE) return 0;
    const last = marker;
    marker = nextMarker(last, text.charAt(at));
    length = length > 0 && !isBroken(last, marker) && IN_KEY.test(text.charAt(at)) ? length + 1 : 0;
    if (marker.tail === KEY_WORDS) {
      length = marker.head === MARKERS[0] ? marker.length : 0;
      marker = SHARED_DASHES;
    }
    return length > marker.length ? length : marker.length;
  };
}

const IN_KEY = /[A-Za-z0-9+/=\s\\:,-]/;

/** Reports dashes that did not become a marker. A single dash may belong to a header of the key. */
function isBroken(last: Marker, next: Marker): boolean {
  return !last.isShared && last.length > 1 && next.length <= 1;
}

interface Marker {
  /** The text so far, up to the blank behind BEGIN or END. */
  readonly head: string;
  /** The last characters behind the head. */
  readonly tail: string;
  readonly length: number;
  /** True while its dashes are also the end of the marker before it. */
  readonly isShared: boolean;
}

const DASH_CODE = 45;
const NO_MARKER: Marker = { head: '', tail: '', length: 0, isShared: false };
const DASH: Marker = { head: '-', tail: '', length: 1, isShared: false };
const SHARED_DASHES: Marker = { head: '-----', tail: '', length: 5, isShared: true };

function nextMarker(marker: Marker, char: string): Marker {
  const { head, tail } = marker;
  const length = marker.length + 1;
  if (head === '-----' && char === '-') return { ...marker, isShared: false };
  if (!MARKERS.includes(head)) {
    const next = head + char;
    if (MARKERS.some((whole) => whole.startsWith(next))) return { ...marker, head: next, length };
  } else {
    const next = (tail + char).slice(-KEY_WORDS.length);
    if (/^[A-Z ]*(?:PRIVATE KEY-{1,5})?$/.test(next)) return { ...marker, tail: next, length };
  }
  return char === '-' ? DASH : NO_MARKER;
}

/** Returns a test for the code of one of these ASCII characters. */
function among(chars: RegExp): (code: number) => boolean {
  const table = Uint8Array.from({ length: 128 }, (_, code) => Number(chars.test(String.fromCharCode(code))));
  return (code) => table[code] === 1;
}

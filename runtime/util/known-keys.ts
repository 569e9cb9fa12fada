import * as z from 'zod/v4';

import { editDistance } from './text/edit-distance';

const SHOWN_LENGTH = 60;
/** More unknown keys than this are counted. */
const SHOWN_KEYS = 12;

/** An object that takes its own keys only. A key that it does not know is refused, with the nearest one that it does. */
export function strictObject<T extends z.core.$ZodLooseShape>(shape: T): z.ZodObject<T, z.core.$strict> {
  const known = Object.keys(shape);
  const describe = (key: string): string => {
    const nearest = nearestKey(key, known);
    if (nearest !== undefined) return `it has no key ${misspelt(key, nearest)}`;
    return `it has no key ${shownKey(key)}${known.length === 0 ? ': it takes none' : `, only ${listKeys(known)}`}`;
  };
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? showSome(issue.keys, describe, '; ') : undefined),
  });
}

/** `"decison" (did you mean "decision"?)` */
export function misspelt(key: string, instead: string): string {
  return `${shownKey(key)} (did you mean "${instead}"?)`;
}

/** Keys that guard, and those that guard somewhere else, with the name that they have here. */
export interface Guards {
  readonly keys: readonly string[];
  readonly elsewhere: Readonly<Record<string, string>>;
  /** Keys that do not guard: another spelling of one, such as camel case, is a slip too. */
  readonly others?: readonly string[];
  /** Other programs keep keys of theirs beside ours: some of our words, such as `cost_limit`, may well be a name of theirs. */
  readonly isShared?: boolean;
}

/** The unknown keys that seem to have been meant to guard, each with the name that it should have. */
export function nearMisses(
  unknown: readonly string[],
  { keys, elsewhere, others = [], isShared = false }: Guards,
): readonly { readonly key: string; readonly instead: string }[] {
  const all = new Map([...keys.map((key) => [key, key] as const), ...Object.entries(elsewhere)]);
  return unknown.flatMap((key) => {
    const spelling = others.find((name) => wordsOf(name).join() === wordsOf(key).join());
    const instead = spelling ?? all.get(nearestKey(key, [...all.keys()], isShared ? isBeginningOf : isPartOf) ?? '');
    return instead === undefined ? [] : [{ key, instead }];
  });
}

/** Keys for people: neither their length nor their number is bounded by those who write them. */
export function listKeys(keys: readonly string[]): string {
  return showSome(keys, shownKey, ', ');
}

function showSome(keys: readonly string[], describe: (key: string) => string, separator: string): string {
  const more = keys.length - SHOWN_KEYS;
  return keys.slice(0, SHOWN_KEYS).map(describe).join(separator) + (more > 0 ? `${separator}and ${more} more` : '');
}

function shownKey(key: string): string {
  return JSON.stringify(key.length > SHOWN_LENGTH ? `${key.slice(0, SHOWN_LENGTH)}…` : key);
}

/**
 * The known key that was most likely meant: another spelling of it, one with a slip for every six letters, or one of which
 * some of the words are left out. Undefined when none is near.
 */
export function nearestKey(key: string, known: readonly string[], isMeant = isPartOf): string | undefined {
  return nearestAmong(known, isMeant)(key);
}

/** The same for many keys that are compared with the same known ones. */
export function nearestAmong(known: readonly string[], isMeant = isPartOf): (key: string) => string | undefined {
  const all = known.map((name) => ({ name, words: wordsOf(name), text: wordsOf(name).join('') }));
  return (key) => {
    if (key.length > MAX_KEY_LENGTH) return undefined;
    const words = wordsOf(key);
    const text = words.join('');
    const near = all
      .map((one) => ({ ...one, slips: slipsBetween(text, one.text) }))
      .filter((one) => one.slips <= mostSlips(one.name) || isMeant(words, one.words));
    return near.sort((a, b) => a.slips - b.slips)[0]?.name;
  };
}

const SLIP_EVERY = 6;

function mostSlips(name: string): number {
  return Math.max(1, name.length / SLIP_EVERY);
}

/** Not counted where the lengths alone are too far apart, since counting takes time. */
function slipsBetween(text: string, name: string): number {
  const most = mostSlips(name);
  return Math.abs(text.length - name.length) > most ? Infinity : editDistance(text, name, most);
}

/** No known one is half as long. */
const MAX_KEY_LENGTH = 60;

/** `maxTier`, `max-tier` and `MAX_TIER` are the words of `max_tier`. */
function wordsOf(key: string): readonly string[] {
  const words = key.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
  return words.split(/[^a-z0-9]+/).filter((word) => word !== '');
}

/** True for at least two words that stand in the other key in this order. One word alone may well be somebody's own key. */
function isPartOf(words: readonly string[], all: readonly string[]): boolean {
  const left = all.reduce((rest, word) => (rest[0] === word ? rest.slice(1) : rest), words);
  return words.length > 1 && left.length === 0;
}

/** True where only the last word is left out, as in `monthly_cost_limit`. */
function isBeginningOf(words: readonly string[], all: readonly string[]): boolean {
  return words.length > 1 && words.length === all.length - 1 && words.every((word, index) => word === all[index]);
}

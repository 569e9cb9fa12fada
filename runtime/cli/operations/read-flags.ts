import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';
import { readStandardInput, UsageError } from '../arguments';
import { type Flag, isNamed, isUnseen, namesOf } from './flags';

type Given = string | boolean | readonly (string | boolean)[] | undefined;

interface Asked {
  readonly words: string;
  readonly flags: readonly Flag[];
  readonly options: Readonly<Record<string, Given>>;
  /** What stands behind the words. */
  readonly names: readonly string[];
}

/** The input of an operation from the options and names of its command. Throws a UsageError. */
export async function readFlags(asked: Asked): Promise<JsonObject> {
  const given = withNames(asked);
  assertWhole(asked, given);
  const values = asked.flags.map((flag) => [flag, isUnseen(flag) ? '-' : given.get(flag.name)] as const);
  if (values.filter(([, value]) => isInput(value)).length > 1) {
    throw new UsageError('Only one option can be - for standard input.');
  }
  const input: Record<string, JsonValue> = {};
  for (const [flag, value] of values) {
    if (value === undefined) continue;
    if (isInput(value)) input[flag.key] = fromInput(flag, await readStandardInput());
    else input[flag.key] = readFlag(flag, value);
  }
  return input;
}

/** The options with the names in place of those that have to be there. */
function withNames({ words, flags, options, names }: Asked): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>(Object.entries(options).filter(([, value]) => value !== undefined));
  const named = flags.filter((flag) => isNamed(flag) && !given.has(flag.name));
  if (names.length > named.length) {
    // What was given is not repeated: it may be a secret in the wrong place.
    const taken = namesOf(flags) || 'no names: what it needs is given with options';
    throw new UsageError(`${words} takes ${taken}.`);
  }
  for (const [index, name] of names.entries()) given.set(named[index]?.name ?? '', name);
  return given;
}

/** `-`, alone or among others. */
const isInput = (value: Given): boolean => value === '-' || (Array.isArray(value) && value.includes('-'));

function assertWhole({ words, flags }: Asked, given: ReadonlyMap<string, Given>): void {
  const missing = flags.filter((flag) => flag.required && !isUnseen(flag) && !given.has(flag.name));
  if (missing.length === 0) return;
  const shown = missing.map((flag) => (isNamed(flag) ? flag.value : `--${flag.name} ${flag.value}`));
  throw new UsageError(`${words} needs ${shown.join(' and ')}.`);
}

function fromInput(flag: Flag, text: string): JsonValue {
  if (flag.kind === 'pairs') return parseObject(flag, text);
  return readValue(flag, text.replace(/\r?\n$/, ''));
}

function readFlag(flag: Flag, given: Exclude<Given, undefined>): JsonValue {
  if (flag.secret) {
    throw new UsageError(
      `--${flag.name} takes only -, for standard input: everybody sees the words of a command line.`,
    );
  }
  return readValue(flag, given);
}

function readValue(flag: Flag, given: Exclude<Given, undefined>): JsonValue {
  if (typeof given === 'boolean') return given;
  const texts = [given].flat().map(String);
  const [text = ''] = texts;
  if (flag.nullable && text === 'none') return null;
  return READERS[flag.kind](flag, texts, text);
}

type Reader = (flag: Flag, texts: readonly string[], text: string) => JsonValue;

const READERS: Readonly<Record<Flag['kind'], Reader>> = {
  text: (flag, _texts, text) => readWord(flag, text),
  boolean: (_flag, _texts, text) => text === 'true',
  integer: ({ name }, _texts, text) => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new UsageError(`--${name} is not a whole number.`);
  },
  number: ({ name }, _texts, text) => {
    if (/^\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
    throw new UsageError(`--${name} is not a number.`);
  },
  list: (flag, texts) => {
    const words = texts.flatMap((text) => text.split(',')).map((word) => word.trim());
    const [first = ''] = words;
    if (words.length === 1 && flag.only.includes(first)) return first;
    return words.filter((word) => word !== '').map((word) => readWord(flag, word));
  },
  fields: ({ name }, texts) => texts.map((text) => readField(name, text)),
  pairs: (flag, texts, text) => {
    if (texts.length === 1 && text.trimStart().startsWith('{')) return parseObject(flag, text);
    return Object.fromEntries(texts.map((pair) => readPair(flag, pair)));
  },
};

function readWord({ name, words }: Flag, text: string): string {
  if (words.length === 0 || words.includes(text)) return text;
  throw new UsageError(`--${name} is one of: ${words.join(', ')}.`);
}

function parseObject({ name }: Flag, text: string): JsonObject {
  const parsed = tryParseJson(text);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new UsageError(`--${name} is not a JSON object${parsed.ok ? '' : `: ${parsed.reason}`}.`);
}

/** `max_iterations=5`: the value is JSON, or else a text. */
function readPair({ name }: Flag, pair: string): readonly [string, JsonValue] {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`--${name} is a JSON object, - for one on standard input, or KEY=VALUE.`);
  const text = pair.slice(at + 1);
  const parsed = tryParseJson(text);
  return [pair.slice(0, at), parsed.ok ? parsed.value : text];
}

/** `customer!:string:Name of the customer`: with ! it has to be there. */
function readField(option: string, given: string): JsonObject {
  const [, name, required, type, description] = /^([^:!]+)(!?):(\w+)(?::(.*))?$/s.exec(given) ?? [];
  if (name === undefined || type === undefined) {
    throw new UsageError(
      `--${option} is NAME:TYPE or NAME:TYPE:DESCRIPTION, with ! behind a name that has to be there.`,
    );
  }
  return { name, type, required: required === '!', ...(description === undefined ? {} : { description }) };
}

import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';
import { readStandardInput, UsageError } from '../arguments';
import { type Flag, isNamed, isUnseen, namesOf } from './flags';

type Given = string | boolean | readonly (string | boolean)[] | undefined;

interface Asked {
  readonly words: string;
  readonly flags: readonly Flag[];
  readonly options: Readonly<Record<string, Given>>;
  /** Names after the words. */
  readonly names: readonly string[];
}

/** Standard input to its end; throws a UsageError the second time. */
type TakeInput = (exact?: boolean) => Promise<string>;

/** The input of an operation from the options and names of its command. Throws a UsageError. */
export async function readFlags(asked: Asked): Promise<JsonObject> {
  const given = withNames(asked);
  assertWhole(asked, given);
  let taken: Promise<string> | undefined;
  const take: TakeInput = (exact) => {
    if (taken !== undefined) throw new UsageError('Only one value can be read from standard input (-).');
    return (taken = readStandardInput(exact));
  };
  const input: Record<string, JsonValue> = {};
  for (const flag of asked.flags) {
    const value = isUnseen(flag) ? '-' : given.get(flag.name);
    if (value !== undefined) input[flag.key] = await readFlag(flag, value, take);
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

function assertWhole({ words, flags }: Asked, given: ReadonlyMap<string, Given>): void {
  const missing = flags.filter((flag) => flag.required && !isUnseen(flag) && !given.has(flag.name));
  if (missing.length === 0) return;
  const shown = missing.map((flag) => (isNamed(flag) ? flag.value : `--${flag.name} ${flag.value}`));
  throw new UsageError(`${words} needs ${shown.join(' and ')}.`);
}

async function readFlag(flag: Flag, given: Exclude<Given, undefined>, take: TakeInput): Promise<JsonValue> {
  if (typeof given === 'boolean') return given;
  const texts = [given].flat().map(String);
  if (flag.secret && texts.some((text) => text !== '-')) {
    throw new UsageError(
      `--${flag.name} accepts only "-" (standard input): command-line arguments are visible to other users.`,
    );
  }
  const isNull = flag.nullable && texts.includes(flag.none);
  if (isNull && texts.length > 1)
    throw new UsageError(`--${flag.name} ${flag.none} cannot be combined with other values.`);
  return isNull ? null : READERS[flag.kind](flag, texts, take);
}

type Reader = (flag: Flag, texts: readonly string[], take: TakeInput) => JsonValue | Promise<JsonValue>;

const READERS: Readonly<Record<Flag['kind'], Reader>> = {
  text: async (flag, [text = ''], take) => {
    if (text !== '-') return readWord(flag, text);
    return readWord(flag, flag.whole ? await take(true) : withoutLineEnd(await take()));
  },
  boolean: (_flag, [text]) => text === 'true',
  integer: ({ name }, [text = '']) => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new UsageError(`--${name} is not a whole number.`);
  },
  number: ({ name }, [text = '']) => {
    if (/^(\d+\.?\d*|\.\d+)$/.test(text)) return Number(text);
    throw new UsageError(`--${name} is not a number.`);
  },
  list: (flag, texts) => {
    const words = flag.whole ? texts : texts.flatMap((text) => text.split(',')).map((word) => word.trim());
    const [first = ''] = words;
    if (words.length === 1 && flag.only.includes(first)) return first;
    return words.filter((word) => word !== '').map((word) => readWord(flag, word));
  },
  fields: (flag, texts) =>
    texts.map((text) => (text.startsWith('{') ? parseObject(flag, text) : readField(flag.name, text))),
  any: async (_flag, [text = ''], take) => readJson(text === '-' ? await take() : text),
  pairs: async (flag, texts, take) => {
    const entries: [string, JsonValue][] = [];
    for (const text of texts) entries.push(...(await readPairs(flag, text, take)));
    return Object.fromEntries(entries);
  },
};

/** A secret may end with a space, and a file ends with a line end. */
const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '');

function readWord({ name, words }: Flag, text: string): string {
  if (words.length === 0 || words.includes(text)) return text;
  throw new UsageError(`--${name} is one of: ${words.join(', ')}.`);
}

/** The entries of a JSON object, of one on standard input, or of `KEY=VALUE`. */
async function readPairs(flag: Flag, text: string, take: TakeInput): Promise<[string, JsonValue][]> {
  if (text === '-') return Object.entries(parseObject(flag, await take()));
  if (text.trimStart().startsWith('{')) return Object.entries(parseObject(flag, text));
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--${flag.name} is a JSON object, - for one on standard input, or KEY=VALUE.`);
  const value = text.slice(at + 1);
  return [[text.slice(0, at), value === '-' ? withoutLineEnd(await take()) : flag.areTexts ? value : readJson(value)]];
}

/** JSON, or else a text. */
function readJson(text: string): JsonValue {
  const parsed = tryParseJson(text);
  return parsed.ok ? parsed.value : text;
}

/** Says nothing of what was given: it may be a secret. */
function parseObject({ name }: Flag, text: string): JsonObject {
  const parsed = tryParseJson(text);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new UsageError(`--${name} is not a JSON object.`);
}

/** `customer!:string:Name of the customer`: with ! it has to be there. */
function readField(option: string, given: string): JsonObject {
  const [, name, required, type, description] = /^([^:!]+)(!?):(\w+)(?::(.*))?$/s.exec(given) ?? [];
  if (name === undefined || type === undefined) {
    throw new UsageError(
      `--${option} is NAME:TYPE or NAME:TYPE:DESCRIPTION, with ! behind a name that has to be there; or a JSON object.`,
    );
  }
  return { name, type, required: required === '!', ...(description === undefined ? {} : { description }) };
}

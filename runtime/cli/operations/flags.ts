import * as z from 'zod/v4';

import type { CommandOption } from '../command';

/** Metadata of the declaration. */
interface Metadata {
  /** A text that must not be visible to others. */
  readonly secret?: boolean;
  /** A tenant: it may be given by its name. */
  readonly tenant?: boolean;
  /** The word for null; default `none`. */
  readonly none?: string;
  /** A list whose entries may have commas: each has an option of its own. */
  readonly whole?: boolean;
  /** Any JSON, or else a text. */
  readonly any?: boolean;
  /** Name of the option; default: the words of the key. */
  readonly flag?: string;
}

/** JSON Schema of one key of an operation's input, with its metadata. */
interface Property extends Metadata {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly items?: Property;
  readonly properties?: Readonly<Record<string, Property>>;
  readonly additionalProperties?: Property | boolean;
  readonly anyOf?: readonly Property[];
  readonly default?: unknown;
}

interface Shape {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

/**
 * How a value of the input is given: `list` with commas, `fields` one by one, `pairs` as JSON or `KEY=VALUE`, `any` as
 * JSON or a text.
 */
type Kind = 'text' | 'boolean' | 'integer' | 'number' | 'list' | 'fields' | 'pairs' | 'any';

/** A key of an operation's input, as an option. */
export interface Flag extends Required<Omit<Metadata, 'any' | 'flag'>>, Taken {
  readonly key: string;
  /** Its words: `allowed-tiers`. */
  readonly name: string;
  readonly kind: Kind;
  /** Placeholder of its value: `TIER`. */
  readonly value: string;
  readonly required: boolean;
  readonly standard?: unknown;
}

interface Taken {
  /** The words that it takes; none: any. */
  readonly words: readonly string[];
  /** Words that stand for themselves in place of a list. */
  readonly only: readonly string[];
  readonly nullable: boolean;
  /** True if the values of pairs are texts, whatever they look like. */
  readonly areTexts: boolean;
}

/** The keys of the input, in the order of its declaration. */
export function flagsOf(input: z.ZodType): readonly Flag[] {
  const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Shape & { anyOf?: readonly Shape[] };
  const shapes = schema.anyOf ?? [schema];
  const properties = new Map(shapes.flatMap((shape) => Object.entries(shape.properties ?? {})));
  return [...properties].map(([key, property]) =>
    toFlag(
      key,
      property,
      shapes.every(({ required = [] }) => required.includes(key)),
    ),
  );
}

function toFlag(key: string, property: Property, required: boolean): Flag {
  const choices = choicesOf(property);
  const only = choices.flatMap((choice) => choice.const ?? []);
  const main = choices.find((choice) => choice.type !== 'null' && choice.const === undefined) ?? property;
  const { enum: words = [], ...meta } = { ...property, ...main, ...main.items };
  const { any = false, flag: name = wordsOf(key) } = meta;
  const flag = { ...marksOf(meta), key, name, kind: any ? 'any' : kindOf(main), required };
  return {
    ...flag,
    words,
    only,
    nullable: choices.some(({ type }) => type === 'null'),
    areTexts: (main.additionalProperties as Property | undefined)?.type === 'string',
    value: valueOf(flag, main, [...words, ...only]),
    standard: property.default,
  };
}

function marksOf(given: Metadata): Required<Omit<Metadata, 'any' | 'flag'>> {
  const { tenant = false, secret = false, none = 'none', whole = tenant } = given;
  return { tenant, secret, none, whole };
}

const choicesOf = (property: Property): readonly Property[] => property.anyOf?.flatMap(choicesOf) ?? [property];

function kindOf({ type, items }: Property): Kind {
  if (type === 'boolean' || type === 'integer' || type === 'number') return type;
  if (type === 'array') return items?.properties === undefined ? 'list' : 'fields';
  return type === 'string' ? 'text' : 'pairs';
}

/** Returns the placeholder of a value in the help. */
function valueOf({ name, kind, ...flag }: Named, { format = '' }: Property, words: readonly string[]): string {
  if (flag.tenant) return 'TENANT';
  if (flag.secret) return '-';
  const own = isNamed({ kind, ...flag }) ? name.replaceAll('-', '_').toUpperCase() : (FORMATS[format] ?? 'TEXT');
  const text = words.length > 1 ? words.join('|') : [own, ...words].join('|');
  return VALUES[kind] ?? `${text}${(flag.whole ? WHOLE : PARTS)[kind] ?? ''}`;
}

/** Added to the placeholder of a value that is taken in parts, or as a whole. */
const PARTS: Readonly<Partial<Record<Kind, string>>> = { list: ',...' };
const WHOLE: typeof PARTS = { text: '|-' };

type Named = Pick<Flag, 'name' | 'kind' | 'required' | 'secret' | 'tenant' | 'whole'>;

const FORMATS: Readonly<Record<string, string>> = { uuid: 'ID', date: 'DAY', uri: 'URL' };
const VALUES: Readonly<Partial<Record<Kind, string>>> = {
  ...{ boolean: '', integer: 'N', number: 'N' },
  ...{ fields: 'NAME[!]:TYPE[:DESCRIPTION]', pairs: 'JSON|KEY=VALUE|-', any: 'JSON|TEXT|-' },
};

/** `tenant` for `tenantId`, `free` for `isFree`, `cache-write-1h-per-1m` for `cacheWrite1hPer1M`. */
function wordsOf(key: string): string {
  if (key === 'tenantId') return 'tenant';
  const words = key.match(/\d+[A-Za-z]|[A-Z]?[a-z]+/g) ?? [key];
  return words
    .slice(words[0] === 'is' ? 1 : 0)
    .join('-')
    .toLowerCase();
}

/** True for a secret that has to be there: it has no option, and comes on standard input. */
export const isUnseen = ({ secret, required }: Flag): boolean => secret && required;

/** True for a short text that has to be there: it may stand behind the words without its option. */
export const isNamed = (flag: Pick<Flag, 'kind' | 'required' | 'secret' | 'tenant' | 'whole'>): boolean =>
  flag.kind === 'text' && flag.required && !flag.secret && !flag.tenant && !flag.whole;

export const namesOf = (flags: readonly Flag[]): string =>
  flags
    .filter(isNamed)
    .map(({ value }) => value)
    .join(' ');

/** `mcp-server add` for `mcpServer.add`; `runs`, since `run` runs a task. */
export function commandWords(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();
  return words.replace(/^run\./, 'runs.').replace('.', ' ');
}

/** How the command of an operation is called: `tool enable CODE --tenant TENANT [options]`. */
export function usageOf(name: string, input: z.ZodType): string {
  const flags = flagsOf(input);
  const required = flags
    .filter((flag) => flag.required && !isUnseen(flag) && !isNamed(flag))
    .map((flag) => `--${flag.name} ${flag.value}`);
  const isMore = flags.some((flag) => !flag.required);
  return [commandWords(name), namesOf(flags), ...required, isMore ? '[options]' : '']
    .filter((part) => part !== '')
    .join(' ');
}

const MANY: readonly Kind[] = ['list', 'fields', 'pairs'];

/** Returns the option of the command; `words` describe it. */
export function optionOf(flag: Flag, words = ''): CommandOption {
  const { kind, value, tenant } = flag;
  const notes = [words, ...notesOn(flag)].filter((note) => note !== '');
  const help = notes.length === 0 ? undefined : notes.join('; ');
  if (kind === 'boolean') return { type: kind, help };
  return { type: 'string', value, multiple: MANY.includes(kind), tenant, help };
}

function* notesOn({ kind, secret, nullable, none, standard }: Flag): Generator<string> {
  if (secret) yield 'read from standard input';
  if (nullable) yield `${none} is null`;
  if (MANY.includes(kind)) yield 'may be given several times';
  if (kind === 'boolean' && standard === undefined) yield '--no-… for false';
  if (typeof standard === 'number' || typeof standard === 'string') yield `default ${standard}`;
}

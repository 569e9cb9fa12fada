import { parseArgs } from 'node:util';

import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';
import { listKeys, nearestKey } from '../util/known-keys';
import { UsageError } from './arguments';
import { findTenant } from './environment';
import { chooseFormat } from './output';

/** An option as Node's parser takes it, with what the help shows of it. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  /** True if it may be given several times. */
  readonly multiple?: boolean;
  readonly short?: string;
  /** Placeholder of its value: `ID`. */
  readonly value?: string;
  /** Default: the common meaning of an option of this name. */
  readonly help?: string | undefined;
  /** False for one that is required; default true. */
  readonly optional?: boolean;
  /** A tenant by its ID, or by a name that only one tenant has: the command gets the ID. */
  readonly tenant?: boolean;
}

export type OptionTable = Readonly<Record<string, CommandOption>>;
export type Values<Options extends OptionTable> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

interface CommandRow<Options extends OptionTable> {
  /** Words that call it: `queue status`. */
  readonly words: string;
  /** Names after the words, each required once; `NAME...` as the last one: any number. Default: no names. */
  readonly names?: readonly string[];
  /** How it is called, where its names and options do not say it. */
  readonly usage?: string;
  /** What it does, in a sentence or two. */
  readonly help: string;
  /** Default none. */
  readonly options?: Options;
  /** Resolves with the exit code. Throws a UsageError before it opens anything. */
  readonly run: (options: Values<Options>, names: readonly string[]) => number | Promise<number>;
}

/** One command of the command line: all that main and the help know of it. */
export interface Command {
  readonly words: readonly string[];
  readonly usage: string;
  readonly help: string;
  /** Its own ones, without those that every command takes. */
  readonly options: OptionTable;
  /** `argv` is what follows the words. */
  readonly execute: (argv: readonly string[]) => Promise<number>;
}

/** An option with a text: `text('FILE')` is shown as `--task FILE`. */
export const text = <const Value extends string>(value: Value): { readonly type: 'string'; readonly value: Value } => ({
  type: 'string',
  value,
});
/** The same, any number of times. */
export const texts = <const Value extends string>(value: Value) => ({ ...text(value), multiple: true }) as const;
export const FLAG = { type: 'boolean' } as const;
export const TENANT = { type: 'string', value: 'TENANT', tenant: true } as const;

/** What every command takes. */
const SHARED = { json: FLAG, table: FLAG, wide: FLAG } as const;

/**
 * A row of the command table.
 *
 * @example
 * command({ words: 'queue status', help: 'What waits.', options: { list: text('NAME') }, run: ({ list }) => show(list) })
 */
export function command<const Options extends OptionTable>(row: CommandRow<Options>): Command {
  const { words, names = [], help, options = {} as Options, run } = row;
  const usage = row.usage ?? [words, ...names, ...Object.entries(options).map(shownOption)].join(' ');
  return {
    words: words.split(' '),
    usage,
    help,
    options,
    execute: async (argv) => {
      const { values, positionals } = parse(argv, { ...SHARED, ...options }, usage);
      const { json, table, wide, ...own } = values;
      chooseFormat({ json: json === true, table: table === true, wide: wide === true });
      checkNames({ words, names }, positionals.length);
      try {
        return await run((await withTenants(own, options)) as Values<Options>, positionals);
      } catch (error) {
        throw inWords(error, words);
      }
    },
  };
}

function shownOption([name, { type, value = '', multiple = false, optional = true }]: [string, CommandOption]): string {
  const shown = type === 'boolean' ? `--${name}` : `--${name} ${value}`;
  return `${optional ? `[${shown}]` : shown}${multiple ? '...' : ''}`;
}

/** The options with the ID of each tenant in place of its name. */
async function withTenants(given: Values<OptionTable>, options: OptionTable): Promise<Values<OptionTable>> {
  const found = { ...given };
  for (const [name, value] of Object.entries(given)) {
    if (options[name]?.tenant !== true || typeof value === 'boolean' || value === undefined) continue;
    const ids = [];
    for (const one of [value].flat() as string[]) {
      if (one.trim() === '') throw new UsageError(`--${name} is empty.`);
      ids.push(isUuid(one) ? one : await findTenant(one));
    }
    found[name] = typeof value === 'string' ? ids[0] : ids;
  }
  return found;
}

/** The error with the operation in the words of the command. */
function inWords(error: unknown, words: string): unknown {
  if (!isRuntimeError(error) || error.code !== 'ADMIN_INPUT_INVALID') return error;
  return new RuntimeError('ADMIN_INPUT_INVALID', { ...error.details, operation: words });
}

function parse(
  argv: readonly string[],
  options: OptionTable,
  usage: string,
): { readonly values: Values<OptionTable>; readonly positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new UsageError(`${explain(error as Error, Object.keys(options))}\n\nuniversal-ai-agent ${usage}`);
  }
}

/** An unknown option in our words: Node's own advise to quote it. */
function explain({ message }: Error, known: readonly string[]): string {
  const [, option] = /^Unknown option '(?:--)?([^']+)'/.exec(message) ?? [];
  if (option === undefined) return message;
  const nearest = nearestKey(option, known);
  const meant = nearest === undefined ? '' : ` Did you mean --${nearest}?`;
  return `There is no option ${option.startsWith('-') ? option : `--${option}`}.${meant}`;
}

/** What was given is not repeated: it may be a secret in the wrong place. */
function checkNames(
  { words, names }: { readonly words: string; readonly names: readonly string[] },
  given: number,
): void {
  if (names.at(-1)?.endsWith('...') === true || given === names.length) return;
  const wanted =
    names.length === 0 ? 'takes no names: what it needs is given with options' : `needs ${names.join(' and ')}`;
  throw new UsageError(`${words} ${wanted}.`);
}

/** The command that the first words name; undefined if none is. */
export function searchCommand(
  commands: readonly Command[],
  argv: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | undefined {
  const command = commands.find(({ words }) => words.every((word, index) => word === argv[index]));
  return command && { command, rest: argv.slice(command.words.length) };
}

/** The same. Throws a UsageError if none is named. */
export function findCommand(
  commands: readonly Command[],
  argv: readonly string[],
): NonNullable<ReturnType<typeof searchCommand>> {
  const found = searchCommand(commands, argv);
  if (found === undefined) throw new UsageError(unknownCommand(commands, argv));
  return found;
}

/** The commands whose first word this is. */
export function commandsOf(commands: readonly Command[], first: string): readonly Command[] {
  return commands.filter(({ words }) => words[0] === first);
}

/** An unknown action is not repeated: it may be a secret in the wrong place. */
function unknownCommand(commands: readonly Command[], [first = '', second = '']: readonly string[]): string {
  const group = commandsOf(commands, first);
  if (group.length > 0) {
    const [name = ''] = group[0]?.words ?? [];
    return `${name} needs one of: ${group.map(actionOf).join(', ')}.${didYouMean(name, nearestAction(group, second))}`;
  }
  const name = nearestKey(first, [...new Set(commands.map(({ words: [word = ''] }) => word))]);
  const meant = name === undefined ? '' : didYouMean(name, nearestAction(commandsOf(commands, name), second) ?? '');
  return `Unknown command ${listKeys([first])}.${meant} "universal-ai-agent help" lists all.`;
}

const actionOf = ({ words }: Command): string => words[1] ?? '';

const nearestAction = (group: readonly Command[], given: string): string | undefined =>
  nearestKey(given, group.map(actionOf));

function didYouMean(name: string, action: string | undefined): string {
  return action === undefined ? '' : ` Did you mean "${[name, action].join(' ').trim()}"?`;
}

import { parseArgs } from 'node:util';

import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';
import { listKeys, nearestKey } from '../util/known-keys';
import { UsageError } from './arguments';
import { findTenant } from './environment';
import { chooseFormat } from './output';

type OptionTable = Readonly<Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }>>;
type Values<Options extends OptionTable> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

interface CommandRow<Options extends OptionTable> {
  /** What calls it: `tools call`. */
  readonly words: string;
  /** What follows the words, each exactly once; `NAME...` as the last one: any number; `...`: as the usage says. Default none. */
  readonly names?: readonly string[];
  /** Its options as the help shows them: `--tenant ID [--tier TIER]`. */
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
  readonly options: readonly string[];
  /** `argv` is what follows the words. */
  readonly execute: (argv: readonly string[]) => Promise<number>;
}

export const TEXT = { type: 'string' } as const;
export const TEXTS = { type: 'string', multiple: true } as const;
export const FLAG = { type: 'boolean' } as const;
/** A tenant by its ID, or by a name that only one tenant has: the command gets the ID. */
export const TENANT = { type: 'string' } as const;

/** What every command takes. */
const SHARED = { json: FLAG, table: FLAG, wide: FLAG } as const;

/**
 * A row of the command table.
 *
 * @example
 * command({ words: 'tenant get', usage: '--tenant ID', help: 'One tenant.', options: { tenant: TENANT }, run: ({ tenant }) => show(tenant) })
 */
export function command<const Options extends OptionTable>(row: CommandRow<Options>): Command {
  const { words, names = [], usage = '', help, options = {} as Options, run } = row;
  const text = [words, ...names.filter((name) => name !== '...'), usage].join(' ').trim();
  const all: OptionTable = { ...SHARED, ...options };
  return {
    words: words.split(' '),
    usage: text,
    help,
    options: Object.keys(options),
    execute: async (argv) => {
      const { values, positionals } = parse(argv, all, text);
      // An own option that is called so, as in `db sql-role --table NAME`, holds texts.
      chooseFormat({ json: values.json === true, table: values.table === true, wide: values.wide === true });
      const own = Object.fromEntries(Object.entries(values).filter(([name]) => name in options));
      checkNames({ words, names }, positionals.length);
      const named = options.tenant === TENANT && typeof own.tenant === 'string' && !isUuid(own.tenant);
      const tenant = named ? { tenant: await findTenant(own.tenant as string) } : {};
      try {
        return await run({ ...own, ...tenant } as unknown as Values<Options>, positionals);
      } catch (error) {
        throw inWords(error, words);
      }
    },
  };
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
    return parseArgs({ args: [...argv], options, allowPositionals: true });
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

/** The command that the first words name. Throws a UsageError. */
export function findCommand(
  commands: readonly Command[],
  argv: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } {
  // The longest name wins: `run list` is no task for `run`.
  const [command] = commands
    .filter(({ words }) => words.every((_, index) => isWord({ words }, index, argv[index])))
    .toSorted((one, other) => other.words.length - one.words.length);
  if (command !== undefined) return { command, rest: argv.slice(command.words.length) };
  throw new UsageError(unknownCommand(commands, argv));
}

/** The commands whose first word this is. */
export function commandsOf(commands: readonly Command[], first: string): readonly Command[] {
  return commands.filter((command) => isWord(command, 0, first));
}

/** `tool list` is `tools list` too: the first word of two may be in the singular or the plural. */
function isWord({ words }: Pick<Command, 'words'>, index: number, given: string | undefined): boolean {
  const word = words[index];
  if (word === given) return true;
  if (word === undefined || given === undefined || index > 0 || words.length === 1) return false;
  return singular(word) === singular(given);
}

const singular = (word: string): string => word.replace(/s$/, '');

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

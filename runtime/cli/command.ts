import { parseArgs } from 'node:util';

import { UsageError } from './arguments';

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
  readonly options: readonly string[];
  /** `argv` is what follows the words. */
  readonly execute: (argv: readonly string[]) => number | Promise<number>;
}

export const TEXT = { type: 'string' } as const;
export const TEXTS = { type: 'string', multiple: true } as const;
export const FLAG = { type: 'boolean' } as const;

/**
 * A row of the command table.
 *
 * @example
 * command({ words: 'tenant get', usage: '--tenant ID', help: 'One tenant.', options: { tenant: TEXT }, run: ({ tenant }) => show(tenant) })
 */
export function command<const Options extends OptionTable>(row: CommandRow<Options>): Command {
  const { words, names = [], usage = '', help, options = {} as Options, run } = row;
  const text = [words, ...names.filter((name) => name !== '...'), usage].join(' ').trim();
  const parse = (argv: readonly string[]): { values: Values<Options>; positionals: string[] } => {
    try {
      return parseArgs({ args: [...argv], options, allowPositionals: true });
    } catch (error) {
      throw new UsageError(`${(error as Error).message}\n\nuniversal-ai-agent ${text}`);
    }
  };
  return {
    words: words.split(' '),
    usage: text,
    help,
    options: Object.keys(options),
    execute: (argv) => {
      const { values, positionals } = parse(argv);
      checkNames({ words, names }, positionals.length);
      return run(values, positionals);
    },
  };
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
  const found = commands.find(({ words }) => words.every((word, index) => argv[index] === word));
  if (found !== undefined) return { command: found, rest: argv.slice(found.words.length) };
  const [first] = argv;
  const actions = commands.filter(({ words }) => words[0] === first).map(({ words }) => words[1]);
  if (actions.length > 0) throw new UsageError(`${String(first)} needs one of: ${actions.join(', ')}.`);
  throw new UsageError(`Unknown command "${String(first)}". "universal-ai-agent help" lists them.`);
}

/** The help of these commands. */
export function helpText(commands: readonly Command[]): string {
  return commands.map(({ usage, help }) => `  ${usage}\n      ${help.replaceAll('\n', '\n      ')}\n`).join('');
}

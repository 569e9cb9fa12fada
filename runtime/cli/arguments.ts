import { parseArgs } from 'node:util';

/** Wrong use of the command line: exit code 2, with this text. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Every option of every command; all take a value but those listed as flags. */
const OPTIONS = {
  task: { type: 'string' },
  tenant: { type: 'string' },
  tier: { type: 'string' },
  message: { type: 'string' },
  'system-prompt': { type: 'string' },
  'tool-server': { type: 'string' },
  'mcp-server': { type: 'string' },
  events: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Parsed = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>;

export type Options = Parsed['values'];

/** Splits `run --tier pro` into words and options. Throws a UsageError for an unknown option or a missing value. */
export function readArguments(argv: readonly string[]): { words: readonly string[]; options: Options } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    return { words: positionals, options: values };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

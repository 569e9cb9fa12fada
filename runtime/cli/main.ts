import { toRuntimeError } from '../errors/to-runtime-error';
import { readArguments, UsageError } from './arguments';
import { dbCommand } from './db-command';
import { printError } from './output';
import { runCommand } from './run-command';
import { usageCommand } from './usage-command';

const HELP = `universal-ai-agent <command>

  run --task FILE            Run a task; FILE is its JSON, - is standard input
  run --tenant ID --message TEXT [--tier TIER] [--system-prompt TEXT]
      --events               Print what happens on standard error, one JSON line each
  db migrate                 Create or adopt the tables; safe to repeat
  db status                  Tell what is applied and what is missing; exit 1 if anything is
  db seed-demo [--tool-server URL] [--mcp-server URL]
                             Add a demo tenant with tools
  usage --tenant ID          The tenant's tokens and cost by month

Environment: DATABASE_URL, OPENROUTER_API_KEY, OPENROUTER_BASE_URL
Exit code: 0 done, 1 failed (one JSON line on standard error), 2 wrong use
`;

async function main(argv: readonly string[]): Promise<number> {
  const { words, options } = readArguments(argv);
  const [command, action] = words;
  if (options.help === true || command === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if (command === 'run') return runCommand(options);
  if (command === 'db') return dbCommand(action, options);
  if (command === 'usage') return usageCommand(options);
  throw new UsageError(command === undefined ? HELP : `Unknown command "${command}".\n\n${HELP}`);
}

/** Runs one command and sets the exit code. Never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  try {
    process.exitCode = await main(argv);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}

function reportFailure(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  printError(toRuntimeError(error).toSummary());
  return 1;
}

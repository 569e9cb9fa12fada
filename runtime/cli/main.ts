import { version } from '../../package.json';
import { toRuntimeError } from '../errors/to-runtime-error';
import { escapeHidden } from '../util/text/escape-hidden';
import { UsageError } from './arguments';
import { type Command, findCommand, searchCommand } from './command';
import { keygenCommand } from './commands/keygen';
import { mcpLoginCommand } from './commands/mcp-login';
import { migrateWorkflowCommand } from './commands/migrate-workflow';
import { queueCommands } from './commands/queue';
import { runCommand } from './commands/run';
import { skillFileCommands } from './commands/skill-files';
import { workerCommand } from './commands/worker';
import { type CommandGroup, helpText } from './help';
import { printError } from './output';
import { type Terminal, terminal, withTerminal } from './terminal';

/** Commands that are not operations of administration; a run loads nothing else. */
const OWN: readonly CommandGroup[] = [
  { title: 'Tasks', commands: [runCommand, workerCommand, ...queueCommands] },
  { title: 'Set up', commands: [keygenCommand, mcpLoginCommand, ...skillFileCommands, migrateWorkflowCommand] },
];
const OWN_COMMANDS = OWN.flatMap(({ commands }) => commands);

/** All commands, in the order of the help. */
export async function allGroups(): Promise<readonly CommandGroup[]> {
  const { operationGroups } = await import('./operations/operation-commands');
  return [...OWN, ...operationGroups()];
}

const ENVIRONMENT = `
Environment: DATABASE_URL, OPENROUTER_API_KEY, OPENROUTER_BASE_URL,
             AGENT_VAULT_KEY (several keys with commas between: the first encrypts, all decrypt),
             AGENT_SQL_DATABASE_URL (the same database under a role of sql-role set, for the tool sql_query),
             REDIS_URL (for the queue, and for the tool redis_get),
             AGENT_TASK_LIST, AGENT_FAILED_LIST, AGENT_FORWARD_LIST, AGENT_WORKER_CONCURRENCY, AGENT_TENANT_CONCURRENCY,
             AGENT_WORKER_ATTEMPTS, AGENT_WORKER_GRACE_SECONDS, AGENT_WORKER_HOST, AGENT_WORKER_PORT, AGENT_LEASE_SECONDS,
             AGENT_LOG_LEVEL, AGENT_CALLBACK_KEY_PREFIXES, AGENT_CALLBACK_HOSTS, AGENT_WEBHOOK_SECRET (for the worker: docs/queue.md),
             AGENT_MCP_STDIO (JSON: the command lines that MCP servers may be started with),
             N8N_API_KEY (for migrate-workflow with --n8n-url)
Exit code: 0 done, 1 failed (in a pipe, one JSON line on standard error) or a result that reports a problem,
           2 wrong use
`;

async function main(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  const isHelp = argv.length === 0 || first === 'help' || argv.some((word) => word === '--help' || word === '-h');
  if (!isHelp && first !== '--version') {
    const { command, rest } = searchCommand(OWN_COMMANDS, argv) ?? findCommand(await allCommands(), argv);
    return command.execute(rest);
  }
  const text = isHelp ? helpText(await allGroups(), helpWords(argv), ENVIRONMENT) : `${version}\n`;
  if (argv.length === 0) throw new UsageError(text);
  terminal().stdout.write(text);
  return 0;
}

const allCommands = async (): Promise<readonly Command[]> => (await allGroups()).flatMap(({ commands }) => commands);

/** The words of the command that is asked about: what follows its first option is not one of them. */
function helpWords(argv: readonly string[]): readonly string[] {
  const words = argv[0] === 'help' ? argv.slice(1) : argv;
  const end = words.findIndex((word) => word.startsWith('-'));
  return end === -1 ? words : words.slice(0, end);
}

/**
 * Runs one command and resolves with its exit code. Never rejects.
 *
 * @example
 * process.exitCode = await runCommandLine(['tenant', 'list'], process);
 */
export function runCommandLine(argv: readonly string[], own: Terminal): Promise<number> {
  return withTerminal(own, () => main(argv).catch(reportFailure));
}

function reportFailure(error: unknown): number {
  if (error instanceof UsageError) {
    terminal().stderr.write(`${escapeHidden(error.message)}\n`);
    return 2;
  }
  printError(toRuntimeError(error).toSummary());
  return 1;
}

import { toRuntimeError } from '../errors/to-runtime-error';
import { escapeHidden } from '../util/escape-hidden';
import { type Options, readArguments, UsageError } from './arguments';
import { auditCommand } from './commands/audit';
import { dbCommand } from './commands/db';
import { keygenCommand } from './commands/keygen';
import { mcpCommand } from './commands/mcp';
import { priceCommand } from './commands/price';
import { runCommand } from './commands/run';
import { toolsCommand } from './commands/tools';
import { usageCommand } from './commands/usage';
import { vaultCommand } from './commands/vault';
import { printError } from './output';

const HELP = `universal-ai-agent <command>

  run --task FILE            Run a task; FILE is its JSON, - is standard input
  run --tenant ID --message TEXT [--tier TIER] [--system-prompt TEXT]
      --events               Print what happens on standard error, one JSON line each
  db migrate                 Create or adopt the tables; safe to repeat
  db status                  Tell what is applied and what is missing; exit 1 if anything is
  db seed-demo [--tool-server URL] [--mcp-server URL]
                             Add a demo tenant with tools
  db seed-tools [--update]   Add the catalogue rows of the tools that come with this package; --update sets them anew
  db sql-role --name NAME [--table TABLE]... [--password -]
                             Make or repair the role for the tool sql_query; prints its password once
  usage --tenant ID          The tenant's tokens and cost by month
  price list                 The price of each model, in US dollars for a million tokens
  price set MODEL --input USD --output USD [--cached-input USD] [--cache-write USD] [--cache-write-1h USD] [--reasoning USD]
          [--provider NAME]
                             Give a model its price, also in place of another
  price sync [--from FILE|URL] [--overwrite MODEL...|all] [--tier TIER=MODEL,...] [--dry-run]
                             Add the prices of the provider's list that are missing; tell which of ours differ, and which tiers
                             name a model that the list lacks. What is there is changed only where it is named
  audit --tenant ID [--task ID]
                             The newest tool calls, and what was decided on each
  tools list --tenant ID [--tier TIER]
                             Every tool of the tenant: name, type, server, parameters
  tools call NAME --tenant ID [--arguments JSON|-] [--meta JSON]
                             Call one tool as a run would; exit 1 when it fails
  tools refresh --tenant ID [--server NAME]
                             Ask MCP servers for their tools anew
  mcp add NAME URL --tenant ID [--transport http|sse|websocket|stdio] [--bearer TOKEN|-] [--auth JSON|-]
          [--on-tool-change accept|quarantine]
                             Register an MCP server and let the tenant use it
  mcp login NAME --tenant ID [--port PORT]
                             Log the tenant in with OAuth; needs AGENT_VAULT_KEY
  mcp health --tenant ID [--server NAME]
                             Connect to the tenant's MCP servers; exit 1 if one is down
  mcp approve NAME --tenant ID [--tool TOOL]...
                             Approve tools that changed
  worker [--drain]           Do the tasks of the Redis list until a signal ends it; --drain: until there are none
  queue status               What waits, runs and is dead, and how many workers there are
  queue pause|resume         No worker takes another task; or goes on
  queue retry-failed [--task ID]
                             Move dead tasks back to the list
  queue drop-unwritten --entry ID
                             Forget the end of a run that the ledger refuses; prints the usage to book by hand afterwards
  vault set --tenant ID|--shared --name NAME
                             Encrypt the secret on standard input; rows name it as vault:NAME
  vault list --tenant ID|--shared
                             The names of the secrets, and whether the present key opens them
  vault remove --tenant ID|--shared --name NAME
                             Forget a secret
  vault rotate               Encrypt everything anew with the first key of AGENT_VAULT_KEY
  vault encrypt [--dry-run]  Move secrets that stand in rows as plain text into the vault
  keygen                     Print a new vault key
  migrate-workflow IN... -o OUT --sql FILE [--report FILE] [--dry-run] [--overwrite]
          [--tools database|connected] [--tenant ID|EXPRESSION] [--postgres-credential ID[:NAME]] [--allow NAME,...]
                             Rewrite exported workflows: one Universal AI Agent in place of AI Agents. IN: files,
                             folders, or - for standard input; OUT: a file, a folder, or - for standard output
  migrate-workflow ID...|all --n8n-url URL --sql FILE [--n8n-api-key KEY] [...]
                             Read them from a running n8n, and write copies back, inactive
  migrate-workflow --undo REPORT -o OUT [--overwrite]
                             Restore the originals from the report

Environment: DATABASE_URL, OPENROUTER_API_KEY, OPENROUTER_BASE_URL,
             AGENT_VAULT_KEY (several keys with commas between: the first encrypts, all decrypt),
             AGENT_SQL_DATABASE_URL (the same database under a role of db sql-role, for the tool sql_query),
             REDIS_URL (for the queue, and for the tool redis_get),
             AGENT_TASK_LIST, AGENT_FAILED_LIST, AGENT_FORWARD_LIST, AGENT_WORKER_CONCURRENCY, AGENT_TENANT_CONCURRENCY,
             AGENT_WORKER_ATTEMPTS, AGENT_WORKER_GRACE_SECONDS, AGENT_WORKER_HOST, AGENT_WORKER_PORT, AGENT_LEASE_SECONDS,
             AGENT_CALLBACK_KEY_PREFIXES, AGENT_CALLBACK_HOSTS, AGENT_WEBHOOK_SECRET (for the worker: docs/queue.md),
             AGENT_MCP_STDIO (JSON: the command lines that MCP servers may be started with),
             N8N_API_KEY (for migrate-workflow with --n8n-url)
Exit code: 0 done, 1 failed (one JSON line on standard error), 2 wrong use
`;

const COMMANDS: Readonly<Record<string, (words: readonly string[], options: Options) => number | Promise<number>>> = {
  run: (_words, options) => runCommand(options),
  db: ([, action], options) => dbCommand(action, options),
  usage: (_words, options) => usageCommand(options),
  audit: (_words, options) => auditCommand(options),
  price: priceCommand,
  tools: toolsCommand,
  mcp: mcpCommand,
  vault: vaultCommand,
  // Loaded when it is asked for: BullMQ is larger than all the rest of the command line.
  worker: async (_words, options) => (await import('./commands/worker')).workerCommand(options),
  queue: async ([, action], options) => (await import('./commands/queue')).queueCommand(action, options),
  keygen: keygenCommand,
  'migrate-workflow': async (words, options) =>
    (await import('./commands/migrate-workflow')).migrateWorkflowCommand(words, options),
};

async function main(argv: readonly string[]): Promise<number> {
  const { words, options } = readArguments(argv);
  const [command] = words;
  if (options.help === true || command === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  const run = command !== undefined && Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (run !== undefined) return run(words, options);
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
    process.stderr.write(`${escapeHidden(error.message)}\n`);
    return 2;
  }
  printError(toRuntimeError(error).toSummary());
  return 1;
}

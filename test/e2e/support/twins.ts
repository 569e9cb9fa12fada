import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { runCli } from '../../support/worlds/cli';
import { addPostgresCredential, type Credential, type N8n } from './host';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin';

/** The exit code for what the command line cannot read; it has no code of its own for it. */
const WRONG_USE = 2;

/** Two databases with the same rows: one is administered by the node in n8n, the other on the command line. */
export interface Twins {
  readonly node: TestDatabase;
  readonly cli: TestDatabase;
  /** The operation gives the same on both sides, but for ids and times. Returns what the node gave. */
  readonly same: (operation: Operation) => Promise<readonly Item[]>;
  /** The text of an operation that gives a file, on both sides. */
  readonly texts: (operation: Operation) => Promise<{ readonly node: string; readonly cli: string }>;
  /** Both sides refuse with the code, and nothing is written. */
  readonly refused: (code: string, operation: Operation) => Promise<void>;
  readonly close: () => Promise<void>;
}

export type Item = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly parameters: object;
  readonly args: readonly string[];
  readonly input?: string;
  /** The list of the command that becomes one item for each entry. */
  readonly list?: string;
}

export interface TwinSettings {
  readonly n8n: N8n;
  readonly credentials: Readonly<Record<string, Credential>>;
  readonly env: Readonly<Record<string, string>>;
}

export async function makeTwins({ n8n, credentials, env }: TwinSettings): Promise<Twins> {
  const [node, cli] = await Promise.all([createMigratedDatabase(), createMigratedDatabase()]);
  const postgres = await addPostgresCredential(n8n, node.url);
  const inNode = (parameters: object): Promise<readonly Item[]> =>
    executeAdmin(n8n, { parameters, credentials: { ...credentials, postgres } });
  const onCommandLine = async ({ args, input }: Operation): Promise<Item> => {
    const { exitCode, stdout, stderr } = await runCli(args, { env: { ...env, DATABASE_URL: cli.url }, input });
    if (exitCode === WRONG_USE) return { code: 'ADMIN_INPUT_INVALID', told: stderr };
    return JSON.parse(stdout === '' ? (stderr.trimEnd().split('\n').at(-1) as string) : stdout) as Item;
  };
  return {
    node,
    cli,
    same: async (operation) => {
      const items = await inNode(operation.parameters);
      const printed = await onCommandLine(operation);
      const { list } = operation;
      const expected = list === undefined ? [printed] : (printed[list] as readonly Item[]);
      expect(masked(items)).toEqual(masked(expected.length === 0 ? [{}] : expected));
      return items;
    },
    texts: async (operation) => {
      const [item] = await inNode(operation.parameters);
      const { stdout } = await runCli(operation.args, { env: { ...env, DATABASE_URL: cli.url } });
      const texts = { node: String(item?.text), cli: stdout };
      return masked(texts) as typeof texts;
    },
    refused: async (code, operation) => {
      const before = await Promise.all([contentOf(node), contentOf(cli)]);
      const [item] = await inNode(operation.parameters);
      expect([operation.args, item?.error]).toEqual([operation.args, expect.objectContaining({ code })]);
      expect([operation.args, await onCommandLine(operation)]).toEqual([
        operation.args,
        expect.objectContaining({ code }),
      ]);
      expect(await Promise.all([contentOf(node), contentOf(cli)])).toEqual(before);
    },
    close: async () => {
      await Promise.all([node.close(), cli.close()]);
    },
  };
}

let executions = 0;

/** The items that the node gives for one operation, in an execution of the real n8n; a file as its text. */
export async function executeAdmin(
  n8n: N8n,
  node: { readonly parameters: object; readonly credentials: object },
): Promise<Item[]> {
  const path = `twin-${(executions += 1)}`;
  const at = (x: number): { readonly position: [number, number]; readonly id: string } => ({
    position: [x, 0],
    id: `${path}-${x}`,
  });
  const isFile = ['export', 'report'].includes((node.parameters as { operation?: string }).operation ?? '');
  const admin = { type: TYPE, typeVersion: 1, onError: 'continueRegularOutput', alwaysOutputData: true };
  const webhook = { path, httpMethod: 'POST', responseMode: 'lastNode', responseData: 'allEntries', options: {} };
  const extract = { operation: 'text', destinationKey: 'text', options: {} };
  const type = 'n8n-nodes-base.';
  const to = (name: string): object => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
  const { id } = await n8n.createWorkflow({
    name: path,
    nodes: [
      { ...at(0), name: 'Webhook', type: `${type}webhook`, typeVersion: 2, webhookId: path, parameters: webhook },
      { ...at(200), name: 'Admin', ...admin, ...node },
      ...(isFile
        ? [{ ...at(400), name: 'Text', type: `${type}extractFromFile`, typeVersion: 1, parameters: extract }]
        : []),
    ],
    connections: { Webhook: to('Admin'), ...(isFile ? { Admin: to('Text') } : {}) },
  });
  await n8n.activate(id);
  const { text } = await n8n.callWebhook(path, {});
  await n8n.deactivate(id);
  return JSON.parse(text) as Item[];
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)/g;

/** Without what differs between two makings of the same. */
function masked(value: unknown): unknown {
  const text = JSON.stringify(value, (key, entry: unknown) =>
    /(?:_|^)(?:ms|latency)$/.test(key) && typeof entry === 'number' ? 0 : entry,
  );
  return JSON.parse(text.replaceAll(UUID, '<id>').replaceAll(TIME, '<time>'));
}

/** Every row of every table of ours. */
async function contentOf(database: TestDatabase): Promise<unknown> {
  const tables = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind = 'r' ORDER BY 1`,
  );
  return Promise.all(
    tables.map(async ({ name }) => [name, await database.query(`SELECT t::text AS row FROM "${name}" t ORDER BY 1`)]),
  );
}

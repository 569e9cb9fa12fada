import { randomBytes } from 'node:crypto';

import { type AgentResult, createRuntime, type Runtime } from '../../../runtime';
import type { VaultStore } from '../../../runtime/contracts/tools/vault';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { createVaultStore } from '../../../runtime/storage/postgres/vault-store';
import { createSealer } from '../../../runtime/vault/sealer';
import { secretOwner } from '../../../runtime/vault/secret-owner';
import { addMcpServer, addTenant, giveTool, type TestDatabase, useMcpServer } from '../servers/database';
import { sendJson, startServer, type TestServer } from '../servers/http-server';
import { startMcpServer, type TestMcpServer } from '../servers/mcp-server';
import { textReply, toolReply } from '../servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../values/agent-fixture';

/** A new vault key. */
export const aVaultKey = (): string => randomBytes(32).toString('base64');

/** Work on the vault's store, over a connection of its own. */
export async function onVault<T>(database: TestDatabase, work: (store: VaultStore) => Promise<T>): Promise<T> {
  const postgres = createPostgres({ url: database.url, maxConnections: 2 });
  try {
    return await work(createVaultStore(postgres));
  } finally {
    await postgres.close();
  }
}

export interface TestSecret {
  /** Default: shared. */
  readonly tenantId?: string;
  readonly name: string;
  readonly value: string;
}

/** Stores a secret as `secret set` does. */
export async function setSecret(database: TestDatabase, key: string, secret: TestSecret): Promise<void> {
  const { tenantId, name, value } = secret;
  const sealed = createSealer(key).seal(value, secretOwner(tenantId, name));
  await onVault(database, (store) => store.set({ tenantId, name, sealed }));
}

/** Every row of every table, as text. */
export async function dumpDatabase(database: TestDatabase): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(`SELECT one::text AS row FROM ${name} AS one`);
    parts.push(...rows.map(({ row }) => row));
  }
  return parts.join('\n');
}

/** The lines of a text that hold a value. */
export const linesWith = (value: string, text: string): string[] =>
  text.split('\n').filter((line) => line.includes(value));

export interface VaultWorld {
  readonly key: string;
  readonly fixture: () => AgentFixture;
  readonly hook: () => TestServer;
  readonly mcp: () => TestMcpServer;
  /** A new tenant in every test. */
  readonly tenantId: () => string;
  /** A new name for a tool or a server in every test. */
  readonly code: () => string;
  /** With the key of this world; `''` is none. */
  readonly aRuntime: (vaultKey?: string) => Runtime;
  readonly set: (secret: TestSecret, key?: string) => Promise<void>;
  readonly setOwn: (name: string, value: string, key?: string) => Promise<void>;
  /** One run in which the model calls the tool. */
  readonly run: (runtime: Runtime, name?: string, tenantId?: string) => Promise<AgentResult>;
  /** Gives the tenant a tool that answers with the headers that it was sent. */
  readonly giveHook: (tool: { readonly authHeader?: string; readonly customConfig?: object }) => Promise<number>;
  /** Gives the tenant an MCP server, and the name of its tool, which answers the same. */
  readonly giveServer: (own: object | undefined, shared?: object, url?: string) => Promise<string>;
  /** The headers of the last call. */
  readonly sent: () => Readonly<Record<string, unknown>>;
}

/** A migrated database with channel accounts, a scripted model, and servers that send back what they were sent. */
export function vaultWorld(): VaultWorld {
  const key = aVaultKey();
  const open: Runtime[] = [];
  let nextCode = 0;
  let now: { fixture: AgentFixture; hook: TestServer; mcp: TestMcpServer; tenantId: string; code: string };
  beforeAll(async () => {
    const fixture = await startAgentFixture(() => ({ tools: [] }));
    await fixture.database.query(CHANNELS);
    const hook = await startServer((request, response) => sendJson(response, { headers: request.headers }));
    const mcp = await startMcpServer({
      tools: () => [{ name: 'stock', description: 'Counts parts' }],
      answer: ({ headers }) => ({ content: [{ type: 'text', text: `7 parts ${JSON.stringify(headers)}` }] }),
    });
    now = { fixture, hook, mcp, tenantId: '', code: '' };
  });
  beforeEach(async () => {
    now = { ...now, tenantId: await addTenant(now.fixture.database), code: `tool_${nextCode++}` };
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close()));
    for (const table of ['elo_agent_secrets', 'elo_agent_mcp_servers', 'elo_agent_tools', 'elo_t_channel_accounts']) {
      await now.fixture.database.query(`DELETE FROM ${table}`);
    }
  });
  afterAll(() => Promise.all([now.fixture.close(), now.hook.close(), now.mcp.close()]));

  const set: VaultWorld['set'] = (secret, given = key) => setSecret(now.fixture.database, given, secret);
  return {
    key,
    fixture: () => now.fixture,
    hook: () => now.hook,
    mcp: () => now.mcp,
    tenantId: () => now.tenantId,
    code: () => now.code,
    aRuntime: (vaultKey = key) => {
      const runtime = createRuntime({
        database: { url: now.fixture.database.url, maxConnections: 2 },
        model: { apiKey: 'sk-test-key', baseUrl: now.fixture.models.url, maxRetries: 0 },
        ...(vaultKey === '' ? {} : { vaultKey }),
      });
      open.push(runtime);
      return runtime;
    },
    set,
    setOwn: (name, value, given) => set({ tenantId: now.tenantId, name, value }, given),
    run: (runtime, name = now.code, tenantId = now.tenantId) => {
      now.fixture.models.script(toolReply([{ name }]), textReply('Done'));
      return runtime.run(aTask(tenantId, { include_trace: true }));
    },
    giveHook: (tool) =>
      giveTool(now.fixture.database, now.tenantId, { code: now.code, endpoint: `${now.hook.url}/hook`, ...tool }),
    giveServer: async (own, shared, url = now.mcp.url) => {
      const serverId = await addMcpServer(now.fixture.database, { code: now.code, url, auth: shared });
      await useMcpServer(now.fixture.database, { tenantId: now.tenantId, serverId, auth: own });
      return `${now.code}_stock`;
    },
    sent: () => now.hook.requests.at(-1)?.headers ?? {},
  };
}

/** As installations have them. */
const CHANNELS = `
CREATE TABLE elo_channels (id SERIAL PRIMARY KEY, code TEXT);
CREATE TABLE elo_t_channel_accounts
  (id SERIAL PRIMARY KEY, tenant_id UUID, channel_id INT, account_id TEXT, credentials JSONB, is_active BOOLEAN)`;

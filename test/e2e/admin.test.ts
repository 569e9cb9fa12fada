import { createRuntime } from '../../runtime';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { runCli } from '../support/worlds/cli';
import { addPostgresCredential, connect, type Credential, type N8n } from './support/host';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin';
const VAULT_KEY = Buffer.alloc(32, 7).toString('base64');

let n8n: N8n;
let database: TestDatabase;
let postgres: Credential;
let vault: Credential;
let calls = 0;

beforeAll(async () => {
  n8n = await connect();
  database = await createMigratedDatabase();
  postgres = await addPostgresCredential(n8n, database.url);
  const data = { secretKey: VAULT_KEY };
  const name = 'Vault';
  vault = { id: await n8n.createCredential({ name, type: 'universalAiAgentVaultApi', data }), name };
});
afterAll(() => database.close());

/** The items that the node gives for one operation, in an execution of the real n8n. */
async function admin(parameters: object, credential = postgres): Promise<readonly Record<string, unknown>[]> {
  const path = `admin-${(calls += 1)}`;
  const { id } = await n8n.createWorkflow({
    name: path,
    nodes: [
      {
        id: 'w',
        name: 'Webhook',
        type: 'n8n-nodes-base.webhook',
        typeVersion: 2,
        position: [0, 0],
        webhookId: path,
        parameters: { path, httpMethod: 'POST', responseMode: 'lastNode', responseData: 'allEntries', options: {} },
      },
      {
        id: 'a',
        name: 'Admin',
        type: TYPE,
        typeVersion: 1,
        position: [200, 0],
        parameters,
        onError: 'continueRegularOutput',
        alwaysOutputData: true,
        credentials: { postgres: credential, universalAiAgentVaultApi: vault },
      },
    ],
    connections: { Webhook: { main: [[{ node: 'Admin', type: 'main', index: 0 }]] } },
  });
  await n8n.activate(id);
  const { text } = await n8n.callWebhook(path, {});
  await n8n.deactivate(id);
  return JSON.parse(text) as Record<string, unknown>[];
}

const cli = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
  const { exitCode, stdout, stderr } = await runCli(args, {
    env: { DATABASE_URL: database.url, AGENT_VAULT_KEY: VAULT_KEY },
  });
  return { exitCode, ...(JSON.parse(stdout === '' ? stderr : stdout) as object) };
};

const tenantOf = (id: unknown): object => ({ __rl: true, mode: 'id', value: id });

it('prepares an empty database, and says before that it has to be', async () => {
  const empty = await createDatabase();
  const credential = await addPostgresCredential(n8n, empty.url);
  const [before] = await admin({ resource: 'diagnostics', operation: 'summary' }, credential);
  expect(before).toMatchObject({ overall_status: 'CRITICAL', failed_components: [{ code: 'DB_SCHEMA_MISSING' }] });
  const [prepared] = await admin({ resource: 'diagnostics', operation: 'prepareDatabase' }, credential);
  expect((prepared?.applied as string[]).length).toBeGreaterThan(5);
  const [demo] = await admin({ resource: 'diagnostics', operation: 'addDemoTenant' }, credential);
  expect(demo).toMatchObject({ tenants: [{ name: 'Demo shop' }, { name: 'Demo travel' }] });
  expect(await admin({ resource: 'tenant', operation: 'list', returnAll: true }, credential)).not.toHaveLength(0);
  await empty.close();
});

it('a tool is made from a form, given, limited, listed and called', async () => {
  const runtime = createRuntime({ database: { url: database.url }, model: {} });
  const { id } = await runtime.admin.tenant.create({ name: 'With tools' });
  await runtime.close();
  const tenantId = tenantOf(id);
  const field = { name: 'value', type: 'string', description: 'Any text', required: true };
  const made = await admin({
    resource: 'tool',
    operation: 'create',
    code: 'remember',
    description: 'Keep a value',
    transport: 'hook',
    endpoint: `${n8n.baseUrl}/healthz`,
    schemaMode: 'fields',
    fields: { field: [field] },
    enableFor: tenantId,
    additionalFields: { timeoutMs: 5000, allowedTiers: ['pro'] },
  });
  expect(made).toMatchObject([{ code: 'remember', timeout_ms: 5000, allowed_tiers: ['pro'] }]);
  const limits = { tenantId, code: 'remember', dailyLimit: 3, permissions: '{"max_calls_per_run": 1}' };
  expect(await admin({ resource: 'tool', operation: 'setLimits', ...limits })).toEqual([
    { code: 'remember', is_enabled: true, usage_limit_daily: 3, permissions: { max_calls_per_run: 1 } },
  ]);
  const offered = await admin({ resource: 'tool', operation: 'list', tenantId, returnAll: true });
  expect(offered).toMatchObject([
    { name: 'remember', parameters: [{ name: 'value', type: 'string', required: true }] },
  ]);
  expect(await cli('tool', 'list', '--tenant', id)).toMatchObject({ exitCode: 0, tools: offered });
  const call = { resource: 'tool', operation: 'execute', tenantId, tool: 'remember' };
  const [wrong] = await admin({ ...call, argumentFields: { mappingMode: 'defineBelow', value: {} } });
  expect(wrong?.error).toMatchObject({ code: 'INPUT_INVALID' });
  const [called] = await admin({ ...call, argumentFields: { mappingMode: 'defineBelow', value: { value: 'x' } } });
  // n8n's health page takes no POST, and says so.
  expect(called?.error).toMatchObject({ code: 'TOOL_HTTP_ERROR' });
  const [bad] = await admin({
    resource: 'tool',
    operation: 'create',
    code: 'other',
    endpoint: 'nowhere',
    schemaMode: 'none',
  });
  expect(bad?.error).toMatchObject({ code: 'TOOL_INVALID' });
  expect(await cli('tool', 'create', 'other', '--endpoint', 'nowhere')).toMatchObject({
    exitCode: 1,
    code: 'TOOL_INVALID',
  });
  const unread = { schemaMode: 'json', parametersSchema: '{"type":' };
  const [json] = await admin({ resource: 'tool', operation: 'create', code: 'other', endpoint: 'http://x', ...unread });
  expect(json?.error).toMatchObject({ code: 'ADMIN_INPUT_INVALID' });
});

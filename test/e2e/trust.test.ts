import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { runCli } from '../support/worlds/cli';
import { aVaultKey, dumpDatabase, linesWith } from '../support/worlds/vault';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  ended,
  FIELDS,
  lastExecutionId,
  type N8n,
} from './support/host';

const SECRETS = {
  tenant: 'vaulted-tenant-7731',
  shared: 'vaulted-shared-9054',
  planted: 'planted-in-a-row-4410',
  header: 'planted-header-2208',
};

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let key: string;
let credentials: { openRouterApi: Credential; postgres: Credential; universalAiAgentVaultApi: Credential };

beforeAll(async () => {
  n8n = await connect();
  database = await createMigratedDatabase();
  models = await startModelServer();
  key = aVaultKey();
  // A careless server that sends back all that it was sent.
  tools = await startServer((request, response) =>
    sendJson(response, { sent: true, echo: { headers: request.headers, body: request.body } }),
  );
  const vault = { name: 'Vault', type: 'universalAiAgentVaultApi', data: { secretKey: key } };
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-model', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    universalAiAgentVaultApi: { id: await n8n.createCredential(vault), name: vault.name },
  };
});
afterAll(async () => {
  await Promise.all([models.close(), tools.close(), database.close()]);
});

const vault = (args: readonly string[], input = '') =>
  runCli(['secret', ...args], { env: { DATABASE_URL: database.url, AGENT_VAULT_KEY: key }, input });

interface Item {
  readonly status: string;
  readonly run_id: string;
  readonly output: string;
  readonly result: { readonly tool_calls: readonly { readonly tool: string; readonly arguments: object }[] };
}

async function activate(path: string, parameters: object, settings: object = {}): Promise<string> {
  const { id } = await n8n.createWorkflow(agentWorkflow({ path, parameters, credentials, settings }));
  await n8n.activate(id);
  return id;
}

async function call(path: string, item: object): Promise<Item> {
  const reply = await n8n.callWebhook(path, { items: [item] });
  if (!Array.isArray(reply.json)) throw new Error(`HTTP ${reply.status}: ${reply.text.slice(0, 1000)}`);
  return (reply.json as Item[])[0] as Item;
}

it('keeps every secret of a vaulted set-up out of the database, the answers, the stored executions and the log', async () => {
  const tenant = await addTenant(database);
  await vault(['set', '--tenant', tenant, 'crm'], SECRETS.tenant);
  await vault(['set', '--shared', 'gateway'], SECRETS.shared);
  await giveTool(database, tenant, {
    code: 'notify',
    transport: 'rest',
    endpoint: tools.url,
    customConfig: {
      headers: { 'x-api-key': 'vault:gateway' },
      transport_config: { path: '/send', body: { token: 'vault:crm', text: '{{text}}' } },
    },
  });
  await giveTool(database, tenant, {
    code: 'legacy',
    endpoint: tools.url,
    authHeader: `Bearer ${SECRETS.planted}`,
    customConfig: { headers: { 'x-api-key': SECRETS.header } },
  });
  const encrypted = await vault(['encrypt']);
  expect(encrypted).toMatchObject({ exitCode: 0 });

  const id = await activate('vaulted', { ...FIELDS, options: { useVaultKey: true } });
  models.script(
    toolReply([
      { name: 'notify', arguments: { text: 'Hi' } },
      { name: 'legacy', arguments: { text: `my key is ${SECRETS.tenant}` } },
    ]),
    textReply(`I was sent ${SECRETS.tenant}, ${SECRETS.shared} and ${SECRETS.planted}.`),
  );
  const item = await call('vaulted', { tenant, tier: 'pro', message: 'Notify them' });
  expect(item.status).toBe('completed');
  const [notified, called] = tools.requests;
  expect(notified).toMatchObject({ path: '/send', headers: { 'x-api-key': SECRETS.shared } });
  expect(JSON.parse(notified?.body ?? '')).toEqual({ token: SECRETS.tenant, text: 'Hi' });
  expect(called?.headers).toMatchObject({ authorization: `Bearer ${SECRETS.planted}`, 'x-api-key': SECRETS.header });

  const execution = await ended(n8n, await lastExecutionId(n8n, id));
  const everything = [
    JSON.stringify(item),
    JSON.stringify(execution),
    // What the model wrote itself stands in the transcript; what tools answered does not.
    JSON.stringify(models.received.flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool'))),
    n8n.log(),
    await dumpDatabase(database),
  ].join('\n');
  expect(everything).toContain('[redacted]');
  for (const secret of Object.values(SECRETS)) expect(linesWith(secret, everything)).toEqual([]);
});

it('asks a person before a call, and goes on in another execution with what was decided', async () => {
  const tenant = await addTenant(database, {
    settings: { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } },
  });
  await giveTool(database, tenant, { code: 'pay', endpoint: tools.url });
  const approval = { decide: { runId: '={{ $json.waiting }}', decision: '={{ $json.decision }}' } };
  await activate('approvals', { ...FIELDS, options: { approval } });
  models.script(toolReply([{ name: 'pay', arguments: { amount: 7 } }]));
  tools.requests.length = 0;
  const waiting = await call('approvals', { tenant, tier: 'pro', message: 'Pay it' });
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'pay', arguments: { amount: 7 } } });
  expect(tools.requests).toEqual([]);

  models.script(textReply('Paid.'));
  const decided = { tenant, tier: 'pro', message: '', waiting: waiting.run_id, decision: 'approve' };
  expect(await call('approvals', decided)).toMatchObject({ status: 'completed', output: 'Paid.' });
  expect(await call('approvals', decided)).toMatchObject({ status: 'completed', output: 'Paid.', replayed: true });
  expect(tools.requests).toHaveLength(1);
});

it('sends an item over budget to the error output, with its status and no model called', async () => {
  const tenant = await addTenant(database, { settings: { monthly_cost_limit_usd: '0' } });
  await activate('budget', FIELDS, { onError: 'continueRegularOutput' });
  models.received.length = 0;
  const item = await call('budget', { tenant, tier: 'pro', message: 'x' });
  expect(item).toMatchObject({ status: 'budget_exceeded', error: { code: 'BUDGET_EXCEEDED' } });
  expect(models.received).toEqual([]);
});

import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { documentsTask } from '../support/values/documents-task';
import {
  addModelCredential,
  addPostgresCredential,
  connect,
  type Credential,
  ended,
  lastExecutionId,
  type N8n,
} from './support/host';
import { addRedisCredential, queueWorkflow, redisCli } from './support/queue';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let hooks: TestServer;
let tenant: string;
let credentials: Record<string, Credential>;

beforeAll(async () => {
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  hooks = await startServer((_request, response) => sendJson(response, {}));
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-queue', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    redis: await addRedisCredential(n8n, redis),
  };
  tenant = await addTenant(database);
});
afterAll(() => Promise.all([models.close(), hooks.close(), redis.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
  models.always((request) => textReply(`answer to ${request.messages.at(-1)?.content ?? ''}`).body);
});

const list = async (key: string): Promise<Record<string, unknown>[]> =>
  (await redis.client.lrange(key, 0, -1)).map((entry) => JSON.parse(entry) as Record<string, unknown>);
const filled = (key: string): Promise<Record<string, unknown>[]> =>
  eventually(async () => {
    const entries = await list(key);
    return entries.length > 0 ? entries : undefined;
  });

/** Activates the example for the time of one test. */
async function whileActive(
  change: Parameters<typeof queueWorkflow>[1],
  use: (id: string) => Promise<void>,
): Promise<void> {
  const { id } = await n8n.createWorkflow(queueWorkflow(credentials, change));
  await n8n.activate(id);
  try {
    await use(id);
  } finally {
    await n8n.deactivate(id);
  }
}

const documentsExample = (): object => documentsTask(tenant, { webhook: `${hooks.url}/webhook/done` });

it("answers the documents' example, pushed with redis-cli, on its key and at its webhook", async () => {
  const agent = { options: { inputMode: 'item', useRedis: true, callbackHosts: '127.0.0.1' } };
  await whileActive({ agent }, async (id) => {
    await redisCli(redis, 'LPUSH', 'elo:tasks:pending', JSON.stringify(documentsExample()));
    const [result] = await filled('elo:results:trace_456');
    expect(result).toMatchObject({
      task_id: 'agent_123',
      trace_id: 'trace_456',
      error: null,
      model_used: 'openai/gpt-4o-mini',
      tokens_used: 120,
      result: { text: expect.stringContaining('Find all orders for client X') as string },
    });
    expect(Number(await redisCli(redis, 'TTL', 'elo:results:trace_456'))).toBeGreaterThan(0);
    const hook = await eventually(() => hooks.requests[0]);
    expect(hook.path).toBe('/webhook/done');
    expect(JSON.parse(hook.body)).toEqual({
      status: 'complete',
      trace_id: 'trace_456',
      counter: 1,
      total_tasks: 1,
      task_id: 'agent_123',
      result_key: 'elo:results:trace_456',
    });
    const { status } = await ended(n8n, await lastExecutionId(n8n, id));
    expect(status).toBe('success');
  });
});

it('pushes a task from one workflow, and gets its result from another one', async () => {
  const main = (name: string): object => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
  const node = (name: string, type: string, rest: object): object => ({
    id: name,
    name,
    type,
    typeVersion: 1,
    position: [0, 0],
    ...rest,
  });
  const agent = (name: string, parameters: object): object =>
    node(name, 'n8n-nodes-universal-ai-agent.universalAiAgent', {
      typeVersion: 4,
      parameters,
      credentials: { redis: credentials.redis },
    });
  const producer = {
    name: 'producer',
    nodes: [
      node('Webhook', 'n8n-nodes-base.webhook', {
        typeVersion: 2.1,
        webhookId: 'producer',
        parameters: { httpMethod: 'POST', path: 'producer', responseMode: 'lastNode', options: {} },
      }),
      agent('Enqueue', {
        operation: 'enqueue',
        tenantId: { __rl: true, mode: 'id', value: tenant },
        tier: 'small',
        message: '={{ $json.body.message }}',
      }),
      agent('Get Result', { operation: 'getResult', waitSeconds: 30 }),
    ],
    connections: { Webhook: main('Enqueue'), Enqueue: main('Get Result') },
  };
  await whileActive({}, async () => {
    const { id } = await n8n.createWorkflow(producer);
    await n8n.activate(id);
    const { json } = (await n8n.callWebhook('producer', { message: 'from far away' })) as { json: object };
    expect(json).toMatchObject({
      output: 'answer to from far away',
      agent_tier: 'small',
      tokenUsage: { totalTokens: 120 },
    });
  });
});

it('tests with exactly one task in the editor, and leaves the others', async () => {
  const { id } = await n8n.createWorkflow(queueWorkflow(credentials));
  const task = (taskId: string): string =>
    JSON.stringify({ ...documentsExample(), task_id: taskId, callback: { result_key: `elo:results:${taskId}` } });
  await redis.client.lpush('elo:tasks:pending', task('test-1'), task('test-2'));
  const { status } = await ended(n8n, await n8n.runManually(id, 'Universal AI Agent Trigger'));
  expect(status).toBe('success');
  expect(await list('elo:results:test-1')).toHaveLength(1);
  expect(await redis.client.llen('elo:tasks:pending')).toBe(1);

  await redis.client.del('elo:tasks:pending');
  const waiting = await n8n.runManually(id, 'Universal AI Agent Trigger');
  await eventually(() => (n8n.log().includes(waiting) ? true : undefined));
  await n8n.stopExecution(waiting);
  expect((await ended(n8n, waiting)).status).toBe('canceled');
  await redis.client.lpush('elo:tasks:pending', task('test-3'));
  await eventually(async () => ((await redis.client.hlen('elo:tasks:pending:taken')) === 0 ? true : undefined));
  expect(await redis.client.llen('elo:tasks:pending')).toBe(1);
  await redis.client.flushall();
});

it('is not activated with a wrong password, and the reason is shown', async () => {
  const data = { host: '127.0.0.1', port: redis.port, password: 'wrong', user: '', database: 0, ssl: false };
  const wrong = { id: await n8n.createCredential({ name: 'Wrong', type: 'redis', data }), name: 'Wrong' };
  const { id, versionId } = await n8n.createWorkflow(queueWorkflow({ ...credentials, redis: wrong }));
  await n8n.rest('POST', `/workflows/${id}/activate`, { versionId });
  const reason = await eventually(async () => {
    const shown = JSON.stringify(await n8n.rest('GET', `/workflows/${id}/publication-status`));
    return shown.includes('password') ? shown : undefined;
  });
  expect(reason).toContain('Redis');
  await n8n.deactivate(id);
});

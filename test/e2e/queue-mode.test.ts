import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { startN8n, startN8nWorker } from '../../scripts/lib/n8n-host.mjs';
import { addTenant, createDatabase, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, type ScriptedReply, startModelServer, textReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { sendStream } from '../support/servers/stream-reply';
import { eventually } from '../support/values/agent-fixture';
import { connectedWorkflow } from './support/connected';
import { addModelCredential, addPostgresCredential, agentWorkflow, type N8n } from './support/host';
import { addRedisCredential, queueWorkflow } from './support/queue';
import { asksForReview, startReviews } from './support/reviews';
import { mixedUp, startStock } from './support/stock';
import { piecesOf, publishStreaming, stopInTheMiddle, streaming } from './support/streams';

// A lost main process is noticed by the queue after half a minute and more.
const PATIENCE_MS = 400_000;

type Main = Awaited<ReturnType<typeof startN8n>>;

let own: TestDatabase;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let folder: string;
let main: Main;
let worker: Awaited<ReturnType<typeof startN8nWorker>>;
let workflowId: string;
let tenant: string;

const inQueueMode = (): { postgresUrl: string; userFolder: string; env: Record<string, string> } => ({
  postgresUrl: own.url,
  userFolder: folder,
  env: {
    EXECUTIONS_MODE: 'queue',
    QUEUE_BULL_REDIS_HOST: '127.0.0.1',
    QUEUE_BULL_REDIS_PORT: String(redis.port),
    QUEUE_BULL_REDIS_PASSWORD: redis.password,
    // As later versions of n8n do.
    OFFLOAD_MANUAL_EXECUTIONS_TO_WORKERS: 'true',
  },
});
const startMain = (more: { packageTarball?: string } = {}): Promise<Main> =>
  startN8n({ ...inQueueMode(), ...more, log: () => undefined });

beforeAll(async () => {
  [own, database, models, redis] = await Promise.all([
    createDatabase(),
    createMigratedDatabase(),
    startModelServer(),
    startRedis(),
  ]);
  tenant = await addTenant(database);
  models.always((request) => textReply(`answer to ${request.messages.at(-1)?.content ?? ''}`).body);
  folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-queue-mode-'));
  const { packageTarball } = JSON.parse(process.env.TEST_N8N ?? '{}') as { packageTarball: string };
  main = await startMain({ packageTarball });
  const { env, ...others } = inQueueMode();
  // Workers write addresses of the main process into mails.
  worker = await startN8nWorker({ ...others, env: { ...env, WEBHOOK_URL: main.baseUrl } });
  const n8n = main as unknown as N8n;
  const credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-queue', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    redis: await addRedisCredential(n8n, redis),
  };
  ({ id: workflowId } = await main.createWorkflow(queueWorkflow(credentials)));
  await main.activate(workflowId);
}, PATIENCE_MS);
afterAll(async () => {
  await Promise.all([main.stop(), worker.stop()]);
  rmSync(folder, { recursive: true, force: true });
  await Promise.all([models.close(), redis.close(), own.close(), database.close()]);
}, PATIENCE_MS);

interface Batch {
  readonly push: () => Promise<void>;
  /** How many are answered, by their counter. */
  readonly done: () => Promise<number>;
  readonly until: (count: number) => Promise<true>;
  readonly expectEachOnce: () => Promise<void>;
}

/** Many tasks that share a counter, as producers make them. */
function newBatch(name: string, count: number): Batch {
  const ids = Array.from({ length: count }, (_, no) => `${name}-${no}`);
  const taskOf = (id: string): object => ({
    task_id: id,
    task_type: 'ai_agent',
    config: { agent_tier: 'small', message: id },
    meta: { tenant_id: tenant, total_tasks: count },
    callback: {
      result_key: `elo:results:${id}`,
      counter_key: `elo:counter:${name}`,
      status_key: `elo:status:${name}`,
    },
  });
  const textsOf = async (id: string): Promise<string[]> => {
    const entries = await redis.client.lrange(`elo:results:${id}`, 0, -1);
    return entries.map((entry) => (JSON.parse(entry) as { result: { text: string } }).result.text);
  };
  const billed = (): Promise<{ task_id: string }[]> =>
    database.query('SELECT task_id FROM elo_t_token_usage WHERE task_id LIKE $1', [`${name}-%`]);
  const done = async (): Promise<number> => Number(await redis.client.get(`elo:counter:${name}`));
  models.received.length = 0;
  return {
    push: async () => {
      await redis.client.lpush('elo:tasks:pending', ...ids.map((id) => JSON.stringify(taskOf(id))));
    },
    done,
    until: (least) => eventually(async () => ((await done()) >= least ? true : undefined)),
    expectEachOnce: async () => {
      expect(await Promise.all(ids.map(textsOf))).toEqual(ids.map((id) => [`answer to ${id}`]));
      expect([await done(), await redis.client.get(`elo:status:${name}`)]).toEqual([count, 'complete']);
      expect(models.received.map(({ messages }) => messages.at(-1)?.content).sort()).toEqual([...ids].sort());
      expect((await billed()).map(({ task_id: id }) => id).sort()).toEqual([...ids].sort());
      expect(await redis.client.llen('elo:tasks:failed')).toBe(0);
    },
  };
}

it(
  "gives tools and model of two tenants to n8n's AI Agent without a mix-up of 1,000 calls, and serves tools by MCP",
  async () => {
    const stock = await startStock(main as unknown as N8n);
    const ofTenant = '={{ $json.tenant }}';
    await stock.publish('queued-tools', 3.1, [stock.tenantModel(ofTenant), stock.tenantTools(ofTenant)]);
    await stock.storm('queued-tools', 50);
    expect([stock.sent().length, mixedUp(stock)]).toEqual([1000, []]);
    const bill = `SELECT count(*)::int AS lines, sum(model_calls)::int AS calls
      FROM elo_t_token_usage WHERE task_type = 'tenant_model' GROUP BY tenant_id`;
    expect(await stock.database.query(bill)).toEqual([
      { lines: 25, calls: 75 },
      { lines: 25, calls: 75 },
    ]);
    stock.forget();
    await stock.serve('queued-server', '={{ $json.headers["x-tenant"] }}');
    const { ann, bob } = stock;
    const clients = await Promise.all(
      [ann, bob].map((tenant) => stock.connect('queued-server', { 'x-tenant': tenant })),
    );
    for (const [index, client] of clients.entries()) {
      const tenant = index === 0 ? bob : ann;
      const { content } = await client.callTool({ name: 'stock', arguments: { no: index, tenant } });
      expect(JSON.stringify(content)).toContain(index === 0 ? ann : bob);
      expect(await client.callTool({ name: 'stock', arguments: { no: -1 } })).toMatchObject({ isError: true });
      await client.close();
    }
    expect([stock.sent().length, mixedUp(stock)]).toEqual([2, []]);
    await stock.close();
  },
  PATIENCE_MS,
);

it(
  'asks a person before calls of two tenants, each of which is made for its own tenant when it is approved',
  async () => {
    const n8n = main as unknown as N8n;
    const [stock, reviews] = await Promise.all([startStock(n8n), startReviews(n8n)]);
    const { ann, bob, database: ofStock } = stock;
    const settings = { tool_config: { tool_permissions: { stock: { decision: 'ask' } } } };
    await ofStock.query('UPDATE elo_t_tenants SET settings = $1', [JSON.stringify(settings)]);
    const tools = stock.tenantTools('={{ $json.tenant }}', { to: reviews.node.name });
    await stock.publish('queued-review', 3.1, [stock.model(), reviews.node, tools]);
    stock.models.always(({ messages }) => {
      if (messages.some(({ role }) => role === 'tool')) return textReply('done').body;
      const [no, tenant] = (messages.find(({ role }) => role === 'user')?.content ?? '').split(' ');
      return asksForReview('stock', { no: Number(no), tenant: tenant === ann ? bob : ann }).body;
    });
    const tenants = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? ann : bob));
    const ask = (of: string, no: number): Promise<unknown> =>
      n8n.callWebhook('queued-review', { items: [{ tenant: of, message: `${no} ${of}` }] });
    await Promise.all(tenants.map(ask));
    expect(stock.sent()).toEqual([]);
    await reviews.approve(tenants.length);
    await eventually(() => (stock.sent().length >= tenants.length ? true : undefined));
    expect(mixedUp(stock)).toEqual([]);
    const called = stock.sent().map(({ arguments: { no } }) => no);
    expect(called.sort((one, other) => one - other)).toEqual(tenants.map((_, no) => no));
    await Promise.all([stock.close(), reviews.close()]);
  },
  PATIENCE_MS,
);

it(
  "streams answers of a worker, also in a manual run: the Universal AI Agent's, and n8n's own with a tenant's model",
  async () => {
    const n8n = main as unknown as N8n;
    const stock = await startStock(n8n);
    const answer = 'There are seven of the first, and none of the second, which comes again on Monday.';
    // Slowly, since pieces that come at once are shown as one.
    const reply: ScriptedReply = (_request, response) =>
      sendStream(response, textReply(answer).body as object, { size: 800, delayMs: 150 });
    stock.models.script(reply, reply, reply);
    const { ann, openRouterApi, postgres } = stock;
    const tenantId = { __rl: true, mode: 'id', value: ann };
    const credentials = { openRouterApi, postgres };
    const own = { tenantId, tier: 'pro', message: '={{ $json.message }}' };
    const workflow = (path: string): ReturnType<typeof agentWorkflow> =>
      agentWorkflow({ path, parameters: own, credentials });
    const streamed = await publishStreaming(n8n, workflow('queued-stream'));
    const agent = {
      ...{ type: '@n8n/n8n-nodes-langchain.agent', typeVersion: 3.1 },
      parameters: { promptType: 'define', text: '={{ $json.message }}', options: {} },
    };
    const subNodes = [stock.tenantModel(ann)];
    await publishStreaming(n8n, connectedWorkflow({ path: 'queued-agent', agent, credentials: {}, subNodes }));
    const manual = await n8n.createWorkflow(streaming(workflow('queued-test')));
    await n8n.listenForTest(manual.id, 'Webhook');
    for (const [path, isTest] of [
      ['queued-stream', false],
      ['queued-agent', false],
      ['queued-test', true],
    ] as const) {
      const reply = await n8n.callWebhook(path, { items: [{ message: 'How many?' }] }, { isTest });
      const pieces = piecesOf(reply.text);
      expect(pieces.join('')).toBe(answer);
      expect(pieces.length).toBeGreaterThanOrEqual(3);
    }
    const bill = 'SELECT task_type, cost_usd::text AS cost FROM elo_t_token_usage ORDER BY task_type';
    expect(await stock.database.query(bill)).toEqual([
      { task_type: 'ai_agent', cost: '0.00002700' },
      { task_type: 'ai_agent', cost: '0.00002700' },
      { task_type: 'tenant_model', cost: '0.00002700' },
    ]);
    const [tested] = (await n8n.executions(manual.id)) as readonly { readonly id: string }[];
    expect(tested).toMatchObject({ mode: 'manual', status: 'success' });
    expect(worker.logText()).toContain(`Worker finished execution ${tested?.id} `);
    const body = { items: [{ message: 'How many?' }] };
    const running = { id: streamed, path: 'queued-stream' };
    expect(await stopInTheMiddle(n8n, { models: stock.models, workflow: running, body })).toBe('canceled');
    await stock.close();
  },
  PATIENCE_MS,
);

it(
  'answers 100 tasks once each while the main process is killed in the middle',
  async () => {
    const batch = newBatch('killed', 100);
    await batch.push();
    await batch.until(30);
    await main.kill();
    const atDeath = await batch.done();
    main = await startMain();
    await batch.until(100);
    expect(atDeath).toBeLessThan(100);
    await batch.expectEachOnce();
  },
  PATIENCE_MS,
);

it(
  'loses nothing and repeats nothing while the workflow is switched off and on',
  async () => {
    const batch = newBatch('switched', 60);
    await batch.push();
    for (const count of [10, 30]) {
      await batch.until(count);
      await main.deactivate(workflowId);
      await main.activate(workflowId);
    }
    await batch.until(60);
    await batch.expectEachOnce();
  },
  PATIENCE_MS,
);

import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { addTenant, addTool, enableTool } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import {
  type ModelServer,
  type ModelServerRequest,
  startModelServer,
  textReply,
  toolReply,
} from '../support/servers/model-server';
import { type OwnPostgres, startOwnPostgres } from '../support/servers/own-postgres';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { untilTrue } from '../support/values/until';
import { type CliRun, startCli } from '../support/worlds/cli';

const TASKS = 500;
const TENANTS = 5;
const KILLS = 10;
const CONCURRENCY = 5;
const LONGEST_MS = 400_000;

interface Answered {
  readonly id: string;
  readonly task: string;
  readonly tokens: number;
}

let redis: TestRedis;
let postgres: OwnPostgres;
let models: ModelServer;
let tools: TestServer;
let hooks: TestServer;
const answered: Answered[] = [];
const workers: CliRun[] = [];

beforeAll(async () => {
  redis = await startRedis({ durable: true });
  postgres = await startOwnPostgres();
  models = await startModelServer();
  tools = await startServer(async (_request, response) => {
    await sleep(randomInt(20, 150));
    sendJson(response, { ok: true });
  });
  hooks = await startServer((_request, response) => sendJson(response, {}));
});
afterAll(async () => {
  for (const { process } of workers) process.kill('SIGKILL');
  await Promise.all([models.close(), tools.close(), hooks.close()]);
  await redis.close();
  await postgres.close();
});

/** Three model calls a task: mail and look something up, mail once more, answer. */
function reply(request: ModelServerRequest): {
  readonly id: string;
  readonly usage: { readonly total_tokens: number };
} {
  const made = request.messages.filter(({ role }) => role === 'assistant').length;
  const task = taskOf(request);
  const usage = { prompt: randomInt(50, 500), completion: randomInt(5, 90) };
  const mail = (no: number): object => ({
    name: 'send_mail',
    arguments: { text: `${task}/${no}` },
    id: `${task}-mail-${no}`,
  });
  const lookUp = { name: 'look_up', arguments: { q: task }, id: `${task}-look` };
  const replies = [toolReply([mail(1) as never, lookUp], usage), toolReply([mail(2) as never], usage)];
  const { body } = replies[made] ?? textReply(`answer of ${task}`, usage);
  return body as ReturnType<typeof reply>;
}

function taskOf({ messages }: ModelServerRequest): string {
  return messages.find(({ role }) => role === 'user')?.content?.trim() ?? '';
}

function startWorker(): CliRun {
  const worker = startCli(['worker'], {
    env: {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      OPENROUTER_API_KEY: 'k',
      OPENROUTER_BASE_URL: models.url,
      AGENT_WORKER_CONCURRENCY: String(CONCURRENCY),
      AGENT_WORKER_PORT: '0',
      AGENT_LEASE_SECONDS: '6',
      AGENT_CALLBACK_HOSTS: '127.0.0.1',
      AGENT_WEBHOOK_SECRET: 'secret-of-webhooks',
    },
  });
  workers.push(worker);
  return worker;
}

interface Stored {
  readonly results: readonly string[];
  readonly counter: string | null;
  readonly status: string | null;
}

/** What was seen last of every task: results live for five minutes only, less than a storm may last. */
const stored = new Map<number, Stored>();

async function collect(): Promise<void> {
  const pipeline = redis.client.pipeline();
  for (let no = 0; no < TASKS; no++) {
    pipeline.lrange(`elo:results:trace-${no}`, 0, -1).get(`elo:counter:trace-${no}`).get(`elo:status:trace-${no}`);
  }
  const replies = ((await pipeline.exec()) ?? []).map(([, value]) => value);
  for (let no = 0; no < TASKS; no++) {
    const [results, counter, status] = replies.slice(no * 3, no * 3 + 3) as [string[], string | null, string | null];
    if (results.length > 0) stored.set(no, { results, counter, status });
  }
}

it(
  `gives ${TASKS} tasks one result and one bill each, while processes are killed ${KILLS} times and both servers restart`,
  async () => {
    const tenants = await Promise.all(Array.from({ length: TENANTS }, () => addTenant(postgres)));
    const schema = (name: string): object => ({
      type: 'object',
      properties: { [name]: { type: 'string' } },
      required: [name],
    });
    const mail = await addTool(postgres, { code: 'send_mail', endpoint: `${tools.url}/mail`, schema: schema('text') });
    const look = await addTool(postgres, { code: 'look_up', endpoint: `${tools.url}/look`, schema: schema('q') });
    for (const tenantId of tenants) {
      await enableTool(postgres, { tenantId, toolId: mail });
      await enableTool(postgres, { tenantId, toolId: look, customConfig: { repeatable: true } });
    }
    // The reply counts as answered when it leaves; whether anybody is left to read it is what this is about.
    models.script(
      ...Array.from({ length: TASKS * 10 }, () => async (request: ModelServerRequest, response: ServerResponse) => {
        await sleep(randomInt(50, 400));
        const body = reply(request);
        answered.push({ id: body.id, task: taskOf(request), tokens: body.usage.total_tokens });
        sendJson(response, body);
      }),
    );

    let killed = startWorker();
    startWorker();
    startWorker();
    const batch = TASKS / KILLS;
    for (let kill = 0; kill < KILLS; kill++) {
      await push(tenants, kill * batch, (kill + 1) * batch);
      await untilBusy(killed);
      await sleep(randomInt(50, 900));
      killed.process.kill('SIGKILL');
      await killed.ended;
      if (kill === 3) await redis.restart();
      if (kill === 6) await postgres.restart();
      killed = startWorker();
    }
    const deadline = performance.now() + LONGEST_MS;
    while (stored.size < TASKS && performance.now() < deadline) {
      await sleep(1000);
      await collect();
    }
    // The notice of a task whose process died behind its result comes with the next try, when the lease is over.
    const notified = (): number => new Set(hooks.requests.map(({ path }) => path)).size;
    await untilTrue(() => Promise.resolve(notified() === TASKS), LONGEST_MS / 4);
    // A second result of a task would come now.
    await sleep(3000);
    await collect();

    everyTaskHasOneResult();
    await theLedgerIsExact();
    await nothingIsSentTwice();
    const failed = await redis.client.lrange('elo:tasks:failed', 0, -1);
    expect(failed).toEqual([]);
  },
  LONGEST_MS * 2,
);

/** Has done a few tasks, and so is in the middle of others. */
async function untilBusy(worker: CliRun): Promise<void> {
  let log = '';
  worker.process.stdout?.on('data', (text: string) => (log += text));
  const deadline = performance.now() + 20_000;
  while (log.split('task done').length < 3) {
    if (performance.now() > deadline) throw new Error('the worker that is to be killed does nothing');
    await sleep(20);
  }
}

async function push(tenants: readonly string[], from: number, to: number): Promise<void> {
  const pipeline = redis.client.pipeline();
  for (let no = from; no < to; no++) {
    const task = {
      task_id: `task-${no}`,
      trace_id: `trace-${no}`,
      task_type: 'ai_agent',
      config: { agent_tier: 'pro', message: `task-${no}` },
      meta: { tenant_id: tenants[no % TENANTS] },
      callback: {
        result_key: `elo:results:trace-${no}`,
        counter_key: `elo:counter:trace-${no}`,
        status_key: `elo:status:trace-${no}`,
        notify_webhook: `${hooks.url}/trace-${no}`,
      },
    };
    pipeline.lpush('elo:tasks:pending', JSON.stringify(task));
    // A producer that is not sure pushes again.
    if (no % 50 === 0) pipeline.lpush('elo:tasks:pending', JSON.stringify(task));
  }
  await pipeline.exec();
}

function everyTaskHasOneResult(): void {
  const wrong = Array.from({ length: TASKS }, (_, no) => ({ no, ...stored.get(no) })).filter(
    ({ no, results = [], counter, status }) => {
      const texts = results.map((result) => (JSON.parse(result) as { result: { text: string } | null }).result?.text);
      return texts.length !== 1 || texts[0] !== `answer of task-${no}` || counter !== '1' || status !== 'complete';
    },
  );
  expect(wrong).toEqual([]);
}

/** What the model server answered is on the bill, but for replies that died with the process that had asked. */
async function theLedgerIsExact(): Promise<void> {
  const [bill] = await postgres.query<{ lines: number; tasks: number; tokens: string }>(
    `SELECT count(*)::int AS lines, count(DISTINCT task_id)::int AS tasks, sum(total_tokens)::text AS tokens
     FROM elo_t_token_usage`,
  );
  expect(bill).toMatchObject({ lines: TASKS, tasks: TASKS });
  const closed = await postgres.query<{ id: string }>(
    'SELECT provider_request_id AS id FROM elo_agent_model_calls WHERE closed_at IS NOT NULL AND provider_request_id IS NOT NULL',
  );
  const booked = new Set(closed.map(({ id }) => id));
  expect(booked.size).toBe(closed.length);
  const lost = answered.filter(({ id }) => !booked.has(id));
  const sum = (calls: readonly Answered[]): number => calls.reduce((total, { tokens }) => total + tokens, 0);
  expect(Number(bill?.tokens)).toBe(sum(answered) - sum(lost));
  const [cost] = await postgres.query<{ lines: string; calls: string }>(
    `SELECT (SELECT sum(cost_exact)::text FROM elo_t_token_usage) AS lines,
       (SELECT sum(cost_exact)::text FROM elo_agent_model_calls WHERE closed_at IS NOT NULL) AS calls`,
  );
  expect(cost?.lines).toBe(cost?.calls);

  const open = await postgres.query<{ task: string; calls: number }>(
    'SELECT task_id AS task, count(*)::int AS calls FROM elo_agent_model_calls WHERE closed_at IS NULL GROUP BY task_id',
  );
  const openCalls = open.reduce((total, { calls }) => total + calls, 0);
  console.info(`${answered.length} model calls answered, ${lost.length} replies lost, ${openCalls} calls left open`);
  expect(openCalls).toBeLessThanOrEqual(KILLS * CONCURRENCY);
  for (const task of new Set(lost.map((call) => call.task))) {
    const ofTask = lost.filter((call) => call.task === task).length;
    expect({ task, lost: ofTask, open: open.find((row) => row.task === task)?.calls ?? 0 }).toEqual({
      task,
      lost: ofTask,
      open: expect.any(Number) as number,
    });
    expect(open.find((row) => row.task === task)?.calls ?? 0).toBeGreaterThanOrEqual(ofTask);
  }
}

async function nothingIsSentTwice(): Promise<void> {
  const mails = tools.requests.filter(({ path }) => path === '/mail').map(({ body }) => body);
  const texts = mails.map((body) => (JSON.parse(body) as { arguments: { text: string } }).arguments.text);
  expect(texts.length).toBe(new Set(texts).size);
  const calls = await postgres.query<{ text: string; code: string | null }>(
    `SELECT arguments->>'text' AS text, code FROM elo_tool_executions WHERE tool = 'send_mail'`,
  );
  const unknown = new Set(calls.filter(({ code }) => code === 'TOOL_OUTCOME_UNKNOWN').map(({ text }) => text));
  expect(calls.filter(({ code }) => code !== null && code !== 'TOOL_OUTCOME_UNKNOWN')).toEqual([]);
  // What was not sent is known to be unknown: nothing fell away in silence.
  expect(new Set([...texts, ...unknown]).size).toBe(TASKS * 2);
  console.info(`${texts.length} mails sent, the outcome of ${unknown.size} unknown after a crash`);
  expect(hooks.requests.length - TASKS).toBeLessThanOrEqual(KILLS * CONCURRENCY);
}

import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../../support/servers/model-server';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { untilTrue } from '../../support/values/until';
import { runCli, startCli } from '../../support/worlds/cli';
import { aTask } from '../../support/worlds/queue';
import { watchWorker, type WorkerRun } from '../../support/worlds/worker-world';

let database: TestDatabase;
let redis: TestRedis;
let models: ModelServer;
let tools: TestServer;
let worker: WorkerRun;

/** A worker that has done one task, and given up another whose tool failed and whose iterations are used up. */
beforeAll(async () => {
  [database, redis, models] = await Promise.all([createMigratedDatabase(), startRedis(), startModelServer()]);
  tools = await startServer((request, response) => {
    const { tool } = JSON.parse(request.body) as { tool: string };
    sendJson(response, {}, tool === 'look' ? 200 : 500);
  });
  const tenantId = await addTenant(database);
  for (const code of ['look', 'break']) await giveTool(database, tenantId, { code, endpoint: tools.url });
  worker = watchWorker(
    startCli(['worker'], {
      env: {
        DATABASE_URL: database.url,
        REDIS_URL: redis.url,
        OPENROUTER_API_KEY: 'k',
        OPENROUTER_BASE_URL: models.url,
        AGENT_WORKER_PORT: '0',
        AGENT_WORKER_CONCURRENCY: '1',
      },
    }),
  );
  const push = (id: string, config: object): Promise<number> =>
    redis.client.lpush('elo:tasks:pending', JSON.stringify(aTask(id, { config, meta: { tenant_id: tenantId } })));
  models.script(
    toolReply([{ name: 'look' }], { prompt: 400, completion: 100 }),
    textReply('Done.', { prompt: 450, completion: 140 }),
    toolReply([{ name: 'look' }, { name: 'break' }], { prompt: 1000, completion: 50 }),
  );
  await push('good', { agent_tier: 'pro', message: 'Look' });
  await worker.says('task done');
  await push('bad', { agent_tier: 'pro', message: 'Look and break', max_iterations: 1 });
  await worker.says('task dead');
  await untilTrue(async () => (await redis.client.llen('elo:tasks:failed')) === 1);
});
afterAll(async () => {
  await worker.kill('SIGTERM');
  await Promise.all([models.close(), tools.close(), redis.close(), database.close()]);
});

/** The samples of these metrics by their name and labels, without our prefix. */
async function samplesOf(...metrics: readonly string[]): Promise<Record<string, number>> {
  const { port } = await worker.says('worker started');
  const text = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
  const lines = text.split('\n').map((line) => /^universal_ai_agent_((\w+).*) (\S+)$/.exec(line) ?? []);
  return Object.fromEntries(
    lines
      .filter(([, , metric = '']) => metrics.includes(metric))
      .map(([, sample = '', , value]) => [sample, Number(value)]),
  );
}

const near = (value: number): number => expect.closeTo(value, 10) as number;

it('counts tasks, tokens and cost at /metrics, those of a task that failed included', async () => {
  expect(
    await samplesOf('tasks_total', 'tokens_total', 'cost_usd_total', 'task_duration_seconds_count', 'queue_tasks'),
  ).toEqual({
    'tasks_total{task_type="ai_agent",outcome="done"}': 1,
    'tasks_total{task_type="ai_agent",outcome="dead"}': 1,
    'tokens_total{task_type="ai_agent"}': 400 + 100 + 450 + 140 + 1000 + 50,
    // US dollars per million tokens: 0.15 in, 0.60 out.
    'cost_usd_total{task_type="ai_agent"}': near((1850 * 0.15 + 290 * 0.6) / 1e6),
    'task_duration_seconds_count{task_type="ai_agent"}': 2,
    'queue_tasks{state="pending"}': 0,
    'queue_tasks{state="waiting"}': 0,
    'queue_tasks{state="active"}': 0,
    'queue_tasks{state="delayed"}': 0,
    'queue_tasks{state="dead"}': 1,
  });
});

/** The rows of the table below a heading of the report, as texts. */
function tableBelow(heading: string, page: string): readonly (readonly string[])[] {
  const section = page.split('<section>').find((one) => one.includes(`<h2>${heading}</h2>`)) ?? '';
  const rows = section.match(/<tr>[^]*?<\/tr>/g) ?? [];
  return rows.map((row) => [...row.matchAll(/<t[hd]>([^<]*)</g)].map(([, cell = '']) => cell));
}

const milliseconds = expect.stringMatching(/^\d+$/) as string;

it('lists the calls of models and tools of both tasks in the usage report', async () => {
  const { stdout: page, ...outcome } = await runCli(['usage', 'report'], { env: { DATABASE_URL: database.url } });
  expect(outcome).toEqual({ exitCode: 0, stderr: '' });
  expect(tableBelow('Models', page)).toEqual([
    ['model', 'calls', 'failed', 'median ms', '95 % within ms'],
    ['openai/gpt-4o-mini', '3', '0', milliseconds, milliseconds],
  ]);
  expect(tableBelow('Tools', page)).toEqual([
    ['tool', 'calls', 'failed', 'median ms'],
    ['look', '2', '0', milliseconds],
    ['break', '1', '1', milliseconds],
  ]);
  expect(tableBelow('Cost by model', page)).toEqual([
    ['', 'US dollars'],
    ['openai/gpt-4o-mini', '0.00045150'],
  ]);
});

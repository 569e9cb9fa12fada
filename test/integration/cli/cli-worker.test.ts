import { createDatabase, createMigratedDatabase } from '../../support/servers/database';
import { textReply } from '../../support/servers/model-server';
import { freePort, startRedis, type TestRedis } from '../../support/servers/redis';
import { type AgentFixture, startAgentFixture } from '../../support/values/agent-fixture';
import { untilTrue } from '../../support/values/until';
import { type CliRun, errorLine, runCli, startCli } from '../../support/worlds/cli';
import { aTask, keysOf } from '../../support/worlds/queue';

let agent: AgentFixture;
let redis: TestRedis;
let env: Record<string, string>;
beforeAll(async () => {
  agent = await startAgentFixture();
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.client.flushall();
  env = {
    DATABASE_URL: agent.database.url,
    REDIS_URL: redis.url,
    OPENROUTER_API_KEY: 'CANARY-api-key',
    OPENROUTER_BASE_URL: agent.models.url,
    AGENT_WORKER_PORT: '0',
    AGENT_LEASE_SECONDS: '2',
    AGENT_WORKER_START_SECONDS: '0',
  };
  agent.models.always(() => textReply('The answer').body);
});
const started: CliRun[] = [];
afterEach(async () => {
  for (const { process: worker } of started) worker.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ ended }) => ended));
});
afterAll(async () => {
  await agent.close();
  await redis.close();
});

interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly port?: number;
  readonly [fact: string]: unknown;
}

interface Worker extends CliRun {
  readonly lines: () => Line[];
  /** Waits until it has said so. */
  readonly says: (message: string) => Promise<Line>;
}

function startWorker(more: Readonly<Record<string, string>> = {}, args: readonly string[] = []): Worker {
  const run = startCli(['worker', ...args], { env: { ...env, ...more } });
  started.push(run);
  let output = '';
  run.process.stdout?.on('data', (text: string) => (output += text));
  const lines = (): Line[] =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const find = (message: string): Line | undefined => lines().find(({ msg }) => msg === message);
  return {
    ...run,
    lines,
    says: async (message) => {
      await untilTrue(() => Promise.resolve(find(message) !== undefined));
      return find(message) as Line;
    },
  };
}

const push = (...tasks: readonly object[]): Promise<number> =>
  redis.client.lpush('elo:tasks:pending', ...tasks.map((task) => JSON.stringify(task)));
/** The ledger remembers a task, so each test has its own numbers. */
const task = (no: number | string, more: object = {}): object =>
  aTask(no, {
    config: { agent_tier: 'pro', message: `CANARY message ${no}` },
    meta: { tenant_id: agent.tenantId },
    callback: { result_key: `elo:results:trace-${no}` },
    ...more,
  });
const results = async (no: number | string): Promise<Record<string, unknown>[]> =>
  (await redis.client.lrange(`elo:results:trace-${no}`, 0, -1)).map((text) => JSON.parse(text) as never);

it('does what is on the list, and ends when there is no more', async () => {
  await push(task(1), task(2), task(3, { task_type: 'sing' }));
  const worker = startWorker({}, ['--drain']);
  const { exitCode, stdout, stderr } = await worker.ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(await results(1)).toMatchObject([{ task_id: 'task-1', result: { text: 'The answer' }, error: null }]);
  expect(await results(3)).toMatchObject([{ result: null, error: 'Unknown task_type: sing' }]);
  expect(await redis.client.llen('elo:tasks:failed')).toBe(1);
  expect(stdout).not.toContain('CANARY');
  expect(worker.lines().find(({ msg, task_id: id }) => msg === 'task done' && id === 'task-1')).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    level: 'info',
    msg: 'task done',
    task_id: 'task-1',
    tenant_id: agent.tenantId,
    task_type: 'ai_agent',
    attempt: 1,
    duration_ms: expect.any(Number) as number,
  });
  expect(worker.lines().find(({ msg, task_id: id }) => msg === 'run ended' && id === 'task-1')).toMatchObject({
    level: 'info',
    tenant_id: agent.tenantId,
    trace_id: 'trace-1',
    status: 'completed',
  });
  expect(worker.lines().some(({ level }) => level === 'debug')).toBe(false);
});

it('tells each step where it is asked to', async () => {
  await push(task(4));
  const worker = startWorker({ AGENT_LOG_LEVEL: 'debug' }, ['--drain']);
  expect((await worker.ended).exitCode).toBe(0);
  const told = worker.lines().flatMap(({ msg, task_id: id }) => (id === 'task-4' ? [msg] : []));
  expect(told).toEqual(['run started', 'step done', 'run ended', 'task done']);
  const wrong = startWorker({ AGENT_LOG_LEVEL: 'loud' });
  expect((await wrong.ended).stderr).toContain('AGENT_LOG_LEVEL is none of debug, info, warn, error');
});

it('tells of its health and serves metrics until it ends', async () => {
  const worker = startWorker();
  const { port = 0, host } = await worker.says('worker started');
  expect(host).toBe('127.0.0.1');
  const get = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  await push(task(11));
  await worker.says('task done');
  const health = await get('/healthz');
  expect(health.status).toBe(200);
  expect(JSON.parse(health.text)).toMatchObject({ ok: true, redis: 'ready', pending: 0, ending: false });
  expect(await get('/readyz')).toMatchObject({ status: 200 });
  const { text } = await get('/metrics');
  expect(text).toContain('universal_ai_agent_tasks_total{task_type="ai_agent",outcome="done"} 1');
  expect(text).toContain('universal_ai_agent_tokens_total{task_type="ai_agent"} 120');
  expect(text).toContain('universal_ai_agent_nodejs_eventloop_lag_seconds');
  expect(await get('/elsewhere')).toMatchObject({ status: 404 });
  expect(await get('//')).toMatchObject({ status: 404 });
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(405);
  worker.process.kill('SIGTERM');
  expect((await worker.ended).exitCode).toBe(0);
});

/** The model answers when the test says so. */
function heldModel(): { readonly asked: () => boolean; readonly answer: () => void } {
  const held = Promise.withResolvers<undefined>();
  let isAsked = false;
  agent.models.script(async (_request, response) => {
    isAsked = true;
    await held.promise;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(textReply('The late answer').body));
  });
  return { asked: () => isAsked, answer: () => held.resolve(undefined) };
}

it('finishes what it is doing before a SIGTERM ends it', async () => {
  const model = heldModel();
  const worker = startWorker();
  await push(task(21));
  await untilTrue(() => Promise.resolve(model.asked()));
  worker.process.kill('SIGTERM');
  await worker.says('worker ends');
  await push(task(22));
  model.answer();
  expect((await worker.ended).exitCode).toBe(0);
  expect(await results(21)).toMatchObject([{ result: { text: 'The late answer' } }]);
  expect(await redis.client.llen('elo:tasks:pending')).toBe(1);
});

it('gives a task back that takes longer than the grace, and another worker does it', async () => {
  const model = heldModel();
  const worker = startWorker({ AGENT_WORKER_GRACE_SECONDS: '0' });
  await push(task(31));
  await untilTrue(() => Promise.resolve(model.asked()));
  worker.process.kill('SIGTERM');
  const { exitCode, stdout } = await worker.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toContain('task returned');
  const other = await startWorker({}, ['--drain']).ended;
  expect(other.stdout).toContain('"attempt":1');
  expect(await results(31)).toMatchObject([{ result: { text: 'The answer' } }]);
  expect(await redis.client.llen('elo:tasks:failed')).toBe(0);
  model.answer();
});

it('ends at once with a second signal', async () => {
  const model = heldModel();
  const worker = startWorker();
  await push(task(41));
  await untilTrue(() => Promise.resolve(model.asked()));
  worker.process.kill('SIGTERM');
  await worker.says('worker ends');
  worker.process.kill('SIGTERM');
  expect((await worker.ended).exitCode).toBeNull();
  model.answer();
});

describe('a worker that cannot start', () => {
  it.each([
    ['a wrong password', () => ({ REDIS_URL: `redis://:CANARY@127.0.0.1:${redis.port}` }), 'REDIS_AUTH_FAILED'],
    ['no Redis', async () => ({ REDIS_URL: `redis://:CANARY@127.0.0.1:${await freePort()}` }), 'REDIS_UNAVAILABLE'],
    [
      'no database',
      async () => ({ DATABASE_URL: `postgres://a:CANARY@127.0.0.1:${await freePort()}/x` }),
      'DB_UNREACHABLE',
    ],
    ['a port that is taken', () => ({ AGENT_WORKER_PORT: String(redis.port) }), 'CONFIG_INVALID'],
    ['a vault key of the wrong length', () => ({ AGENT_VAULT_KEY: 'CANARY' }), 'VAULT_KEY_INVALID'],
    ['one list for two purposes', () => ({ AGENT_FORWARD_LIST: 'elo:tasks:pending' }), 'CONFIG_INVALID'],
  ])('says why in one line: %s', async (_name, change, code) => {
    const outcome = await startWorker(await change()).ended;
    expect(outcome.exitCode).toBe(1);
    expect(errorLine(outcome).code).toBe(code);
    expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(outcome.stdout + outcome.stderr).not.toContain('CANARY');
  });

  it.each([
    ['without our tables', createDatabase, 'DB_SCHEMA_MISSING'],
    ['that has lost one of our tables', createMigratedDatabase, 'DB_SCHEMA_DAMAGED'],
  ])('has a database %s', async (_what, create, code) => {
    const database = await create();
    await database.query('DROP TABLE IF EXISTS elo_agent_journal');
    const outcome = await startWorker({ DATABASE_URL: database.url }).ended;
    expect([outcome.exitCode, errorLine(outcome).code]).toEqual([1, code]);
    await database.close();
  });

  it.each([
    [{ AGENT_WORKER_CONCURRENCY: 'many' }, 'AGENT_WORKER_CONCURRENCY'],
    [{ AGENT_WORKER_PORT: '70000' }, 'AGENT_WORKER_PORT'],
    [{ REDIS_URL: '' }, 'REDIS_URL'],
  ])('is used wrongly: %j', async (change, name) => {
    const { exitCode, stderr } = await startWorker(change).ended;
    expect(exitCode).toBe(2);
    expect(stderr).toContain(name);
  });
});

it('is looked after from the command line', async () => {
  const queue = async (...words: readonly string[]): Promise<unknown> => {
    const { exitCode, stdout, stderr } = await runCli(['queue', ...words], { env: { REDIS_URL: redis.url } });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  await push(task('bad', { meta: { tenant_id: 'nobody' } }));
  await startWorker({}, ['--drain']).ended;
  expect(await results('bad')).toMatchObject([{ result: null, error_code: 'TENANT_ID_INVALID' }]);
  expect(await queue('pause')).toMatchObject({ paused: true, dead: 1, workers: 0 });
  expect(await queue('retry-failed', '--task', 'task-good')).toEqual({ retried: 0, skipped: 0 });
  expect(await queue('retry-failed', '--task', 'task-bad')).toEqual({ retried: 1, skipped: 0 });
  expect(await queue('status')).toMatchObject({ list: 'elo:tasks:pending', pending: 1, paused: true, dead: 0 });
  expect(await queue('resume')).toMatchObject({ paused: false });
  expect((await runCli(['queue', 'sing'], { env })).exitCode).toBe(2);
  expect(await keysOf(redis.client, { redis: { url: '' }, list: 'elo:tasks:failed' })).toEqual([]);
});

import { sendJson } from '../support/servers/http-server';
import { textReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { errorLine, runCli } from '../support/worlds/cli';
import { API_KEY, settled, WEBHOOK_SECRET, type WorkerRun, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();
const MiB = 1024 * 1024;

/** Pushed behind what is hostile, so that it is done when the line has moved on. */
async function lineMovesOn(worker: WorkerRun): Promise<void> {
  const good = world.order();
  await world.push(good);
  const [report] = await world.reported(good);
  expect(report).toMatchObject({ result: { text: 'The answer' }, error: null });
  expect(worker.process.exitCode).toBeNull();
}

it('case 37: a task that ends every process which does it is given up, told of, and the one behind it is done', async () => {
  let worker = world.startWorker();
  let crashes = 0;
  const poison = world.order();
  const good = world.order();
  world.models().script();
  const takeDown = async (): Promise<void> => {
    crashes++;
    await worker.kill();
    worker = start();
  };
  const start = (): WorkerRun =>
    world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '2', AGENT_WORKER_CONCURRENCY: '1' } });
  world.models().script(
    ...Array.from({ length: 20 }, () => async (request: unknown, response: Parameters<typeof sendJson>[0]) => {
      if (JSON.stringify(request).includes(poison.task_id)) return takeDown();
      sendJson(response, textReply('The answer').body);
    }),
  );
  await worker.kill();
  worker = start();
  await world.push(poison, good);
  const [dead, done] = await world.reported(poison, good);
  expect(done).toMatchObject({ result: { text: 'The answer' } });
  expect(dead).toMatchObject({ result: null, error_code: 'TASK_CRASHED' });
  expect(crashes).toBe(3);
  await untilTrue(async () => (await world.dead()).length > 0);
  expect(await world.dead()).toMatchObject([{ code: 'TASK_CRASHED', task_id: poison.task_id }]);
});

it('case 37: a task that always fails ends on the dead-letter list with its tries and its reason, and is told of once', async () => {
  const { database, tenantId } = world;
  await database().query('UPDATE elo_t_tenants SET is_active = false WHERE id = $1', [tenantId()]);
  const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '3' } });
  const refused = world.order();
  const unreachable = world.order({ task_type: 'http_request', config: { url: 'http://127.0.0.1:1/', method: 'GET' } });
  await world.push(refused);
  expect(await world.reported(refused)).toMatchObject([{ result: null, error_code: 'TENANT_INACTIVE' }]);
  await database().query('UPDATE elo_t_tenants SET is_active = true WHERE id = $1', [tenantId()]);
  await world.push(unreachable);
  expect(await world.reported(unreachable)).toMatchObject([{ result: null, error_code: 'TASK_REQUEST_FAILED' }]);
  await untilTrue(async () => (await world.dead()).length === 2);
  expect(await world.dead()).toMatchObject([
    { code: 'TASK_REQUEST_FAILED', attempts: 3 },
    { code: 'TENANT_INACTIVE', attempts: 1 },
  ]);
  await lineMovesOn(worker);
});

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const asTask = (more: object): string => JSON.stringify({ ...world.order(), ...more });
/** Each with what it must not get past: nothing of it is done. */
const HOSTILE: readonly (readonly [string, () => string | Buffer])[] = [
  ['10 MB', () => asTask({ config: { message: 'x'.repeat(10 * MiB) } })],
  ['100,000 levels', () => nested(100_000)],
  ['100,000 open brackets', () => '['.repeat(100_000)],
  ['201 levels of context', () => asTask({}).replace('"config":{', `"config":{"context":${nested(250)},`)],
  ['half a surrogate pair as id', () => '{"task_id":"\\ud800","config":{"message":"x"},"meta":{}}'],
  ['NUL in an id', () => asTask({ task_id: 'a\0b' })],
  ['an id of a megabyte', () => asTask({ task_id: 'x'.repeat(1000 * 1000) })],
  ['an id beyond all numbers', () => '{"task_id":1e999,"config":{"message":"x"},"meta":{}}'],
  ['a task_type that is a list', () => asTask({ task_type: ['ai_agent'] })],
  ['a task_type that is an object', () => asTask({ task_type: { toString: 'ai_agent' } })],
  ['a callback that is a list', () => asTask({ callback: ['elo:results:x'] })],
  ['a priority below zero', () => asTask({ priority: -1 })],
  ['no UTF-8', () => Buffer.concat([Buffer.from('{"task_id":"'), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('"')])],
];

it('case 37: entries that are no tasks go to the dead-letter list, all of them, and cost nothing', async () => {
  const worker = world.startWorker();
  const before = world.models().received.length;
  await world.push(...HOSTILE.map(([, entry]) => entry()));
  await lineMovesOn(worker);
  await untilTrue(async () => (await world.dead()).length === HOSTILE.length);
  const dead = await world.dead();
  expect(dead.map(({ code }) => code).sort()).toEqual([
    ...Array.from({ length: HOSTILE.length - 1 }, () => 'INPUT_INVALID'),
    'TASK_TOO_LARGE',
  ]);
  expect(world.models().received).toHaveLength(before + 1);
});

/** Odd, and still tasks: done, or refused with a code. */
it.each([
  ['an id with colons, line ends and escapes', { task_id: 'a:b\n\r\u001b[2J\u202e:{}' }, undefined],
  ['an id that names a prototype', { task_id: '__proto__' }, undefined],
  ['a number as id', { task_id: 1234567890123456 }, undefined],
  ['type with a blank', { task_type: 'ai_agent ' }, 'TASK_TYPE_UNKNOWN'],
  ['type in capitals', { task_type: 'AI_AGENT' }, 'TASK_TYPE_UNKNOWN'],
  ['type of every object', { task_type: 'constructor' }, 'TASK_TYPE_UNKNOWN'],
  [
    '19,000 values of context',
    { config: { message: 'm', context: Array.from({ length: 19_000 }, () => 0) } },
    undefined,
  ],
  [
    '100,000 values of context',
    { config: { message: 'm', context: Array.from({ length: 100_000 }, () => 0) } },
    'INPUT_INVALID',
  ],
  ['NUL and half a pair in the message', { config: { agent_tier: 'pro', message: 'a\0b\ud800c' } }, undefined],
  ['a tenant that is an object', { meta: { tenant_id: { id: 1 } } }, 'INPUT_INVALID'],
  ['a tenant with half a pair', { meta: { tenant_id: '\ud800' } }, 'INPUT_INVALID'],
  ['a total that makes no sense', { meta: { total_tasks: 'x' } }, 'INPUT_INVALID'],
] as const)('case 37: %s', async (_name, more, code) => {
  const worker = world.startWorker();
  const { task_id: key, ...order } = world.order();
  const meta = { tenant_id: world.tenantId(), ...('meta' in more ? more.meta : {}) };
  await world.push({ ...order, task_id: key, ...more, meta });
  await untilTrue(async () => (await world.reports(key)).length > 0, 60_000);
  const [report] = await world.reports(key);
  expect(report?.error_code).toBe(code);
  await lineMovesOn(worker);
  expect(await world.reports(key)).toHaveLength(1);
  // One line of JSON each, whatever stands in the ids.
  expect(worker.lines().length).toBeGreaterThan(0);
});

it('case 37: keys that reach for a prototype change nothing for the tasks behind', async () => {
  const worker = world.startWorker();
  const { task_id: id, ...order } = world.order();
  const raw = JSON.stringify({ ...order, task_id: id })
    .replace('"config":{', '"__proto__":{"task_type":"x"},"config":{"__proto__":{"max_iterations":1,"approval":{}},')
    .replace('"meta":{', '"meta":{"__proto__":{"tenant_id":"x"},"constructor":{"prototype":{"polluted":1}},')
    .replace('"callback":{', '"callback":{"__proto__":{"result_key":"elo:results:polluted"},');
  await world.push(raw);
  await untilTrue(async () => (await world.reports(id)).length + (await world.dead()).length > 0);
  await lineMovesOn(worker);
  expect(await world.redis().client.exists('elo:results:polluted')).toBe(0);
});

it('case 37: tasks of others that would take many times their size when parsed do not end the worker', async () => {
  const env = { AGENT_FORWARD_LIST: 'elo:tasks:video', NODE_OPTIONS: '--max-old-space-size=128' };
  const worker = world.startWorker({ env });
  await worker.says('worker started');
  const bomb = `{"task_type":"video","items":[${'{},'.repeat(10 * MiB)}{}]}`;
  for (let no = 0; no < 4; no++) await world.push(bomb);
  await lineMovesOn(worker);
  expect(await world.redis().client.llen('elo:tasks:video')).toBe(4);
  expect(await world.dead()).toEqual([]);
});

it('case 37: an empty type is ours whether or not others have a list of their own', async () => {
  const worker = world.startWorker({ env: { AGENT_FORWARD_LIST: 'elo:tasks:video' } });
  const task = world.order({ task_type: '' });
  await world.push(task);
  expect(await world.reported(task)).toMatchObject([{ result: { text: 'The answer' } }]);
  await lineMovesOn(worker);
  expect(await world.redis().client.llen('elo:tasks:video')).toBe(0);
});

describe('dead tasks that are moved back', () => {
  it('case 37: while workers run: each is tried once more and is on the dead-letter list once', async () => {
    const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    const nobody = { tenant_id: '00000000-0000-4000-8000-000000000000' };
    const tasks = Array.from({ length: 150 }, () => world.order({}, nobody));
    await world.push(...tasks);
    await untilTrue(async () => (await world.dead()).length === tasks.length, 60_000);
    const env = { REDIS_URL: world.redis().url };
    const outcomes = await Promise.all([1, 2].map(() => runCli(['queue', 'retry-failed'], { env })));
    for (const outcome of outcomes) expect(outcome.exitCode).toBe(0);
    await untilTrue(async () => (await world.dead()).length === tasks.length, 60_000);
    await lineMovesOn(worker);
    await settled(1000);
    const ids = (await world.dead()).map(({ task_id: id }) => id);
    expect(new Set(ids)).toEqual(new Set(tasks.map(({ task_id: id }) => id)));
    expect(ids).toHaveLength(tasks.length);
    for (const { task_id: id } of tasks) expect(await world.reports(id)).toHaveLength(1);
  });
});

describe('secrets', () => {
  it('case 32: of the worker are in no log, metric, health, report, dead entry or error', async () => {
    const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    const { port } = await worker.says('worker started');
    const url = `http://127.0.0.1:${port as number}`;
    world
      .models()
      .script((_request, response) => sendJson(response, { error: { message: `bad key ${API_KEY}` } }, 401));
    const failing = world.order();
    const echoing = world.order({ config: { agent_tier: 'pro', message: 'x' } });
    await world.push(failing);
    await world.reported(failing);
    world.models().script((_request, response) => sendJson(response, textReply(`${API_KEY} ${WEBHOOK_SECRET}`).body));
    await world.push(echoing, 'CANARY no task', { ...world.order(), config: 'CANARY' });
    await world.reported(echoing);
    await untilTrue(async () => (await world.dead()).length === 3);
    const pages = await Promise.all(
      ['/healthz', '/metrics', '/readyz', '/CANARY'].map(async (path) => (await fetch(url + path)).text()),
    );
    const { client, password } = world.redis();
    const keys = await client.keys('*');
    const reports = await Promise.all(
      [failing, echoing].map(({ task_id: id }) => client.lrange(`elo:results:${id}`, 0, -1)),
    );
    const secrets = [
      API_KEY,
      WEBHOOK_SECRET,
      password,
      encodeURIComponent(password),
      new URL(world.postgres().url).password,
    ];
    const said = [
      worker.output(),
      ...pages,
      ...reports.flat(),
      keys.join('\n'),
      ...(await world.dead()).map(({ message, hint }) => message + hint),
    ].join('\n');
    for (const secret of secrets) expect(said).not.toContain(secret);
    expect(worker.output()).not.toContain('CANARY');
    const status = await runCli(['queue', 'status'], {
      env: { REDIS_URL: world.redis().url.replace('CANARY', 'CANARX') },
    });
    expect(errorLine(status).code).toBe('REDIS_AUTH_FAILED');
    expect(status.stderr).not.toMatch(/CANAR/);
  });
});

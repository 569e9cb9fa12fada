import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';

import { buildSync } from 'esbuild';

import { textReply } from '../../support/servers/model-server';
import { aTask, eventually, gate } from '../../support/values/agent-fixture';
import { callbackKeys, startTaskFixture, type TaskFixture } from '../../support/values/task-fixture';

let fixture: TaskFixture;
let script: string;

beforeAll(async () => {
  fixture = await startTaskFixture();
  const source = `import { createRuntime } from './runtime';
    const { config, task } = JSON.parse(process.argv[2]);
    void createRuntime(config).handle(task);`;
  const [output] = buildSync({
    stdin: { contents: source, resolveDir: path.resolve(__dirname, '../../..'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    packages: 'external',
    loader: { '.sql': 'text' },
    write: false,
  }).outputFiles;
  script = output?.text ?? '';
});
afterAll(() => fixture.close());

/** Handles the task in a process of its own, with what the fixture's runtime has. */
function handleElsewhere(task: object): ChildProcess {
  const config = {
    database: { url: fixture.database.url },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
    redis: { url: fixture.redis.url },
    callbacks: { hosts: ['127.0.0.1'], webhookSecret: 'a webhook secret' },
  };
  const child = spawn(process.execPath, ['-', JSON.stringify({ config, task })], {
    cwd: path.resolve(__dirname, '../../..'),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.on('error', () => undefined).end(script);
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Its holder is gone, so nobody has to wait for the end of its time. */
async function endLease(prefix: string): Promise<void> {
  for (const key of await fixture.redis.client.keys(`${prefix}*`)) {
    if ((await fixture.redis.client.hexists(key, 'until')) === 1) await fixture.redis.client.hset(key, 'until', 0);
  }
}

it('a process that dies with the result written and the webhook unsent leaves the webhook to the next one', async () => {
  const keys = callbackKeys();
  const task = { ...aTask(fixture.tenantId), callback: { ...keys, notify_webhook: `${fixture.receiver.url}/notify` } };
  fixture.models.script(textReply('Done.'));
  const arrived = gate();
  const { answer } = fixture.receiver;
  fixture.receiver.answer = () => arrived.open();
  const child = handleElsewhere(task);
  await arrived.opened;
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  await kill(child);

  fixture.receiver.answer = answer;
  await endLease('elo:agent:delivered:');
  const report = await fixture.runtime.handle(task);
  expect(report).toMatchObject({ replayed: true });
  // At least once, both under one idempotency key.
  const sent = fixture.webhooksOf(task.task_id);
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(await fixture.redis.client.get(keys.counter_key)).toBe('1');
  expect(await fixture.usageRows(task.task_id)).toMatchObject([{ model_calls: 1 }]);
});

it('a process that dies with its request sent leaves a failure, and the request is not sent again', async () => {
  const keys = callbackKeys();
  const url = `${fixture.receiver.url}/order`;
  const plain = aTask(fixture.tenantId);
  const task = { ...plain, task_type: 'http_request', config: { url, body: { order: 1 } }, callback: keys };
  const arrived = gate();
  const { answer } = fixture.receiver;
  fixture.receiver.answer = () => arrived.open();
  const child = handleElsewhere(task);
  await arrived.opened;
  await kill(child);
  fixture.receiver.answer = answer;
  await endLease('elo:agent:request:');
  expect((await fixture.failFinally(task)).message).toContain('its outcome is unknown');
  expect(await fixture.reports(keys.result_key)).toMatchObject([{ error_code: 'TASK_OUTCOME_UNKNOWN' }]);
  expect(fixture.receiver.requests.filter((request) => request.path === '/order')).toHaveLength(1);
});

it('a process that dies before its answer is written leaves everything to the next one', async () => {
  const keys = callbackKeys();
  const task = { ...aTask(fixture.tenantId), callback: keys };
  const asked = gate();
  fixture.models.script(() => asked.open(), textReply('Done.'));
  const child = handleElsewhere(task);
  await asked.opened;
  await kill(child);
  expect(await fixture.redis.client.exists(keys.result_key)).toBe(0);
  await fixture.database.query('UPDATE elo_agent_runs SET lease_until = now() WHERE task_id = $1', [task.task_id]);
  await fixture.runtime.handle(task);
  const reports = await eventually(async () => fixture.reports(keys.result_key));
  expect(reports).toMatchObject([{ result: { text: 'Done.' }, error: null }]);
});

import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { freePort, startRedis, type TestRedis } from '../../support/servers/redis';
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy';
import { untilTrue } from '../../support/values/until';
import { type CliRun, errorLine, startCli } from '../../support/worlds/cli';
import { watchWorker, type WorkerRun } from '../../support/worlds/worker-world';

let database: TestDatabase;
let redis: TestRedis;
let postgres: TcpProxy;
let queue: TcpProxy;

beforeAll(async () => {
  [database, redis] = await Promise.all([createMigratedDatabase(), startRedis()]);
  [postgres, queue] = await Promise.all([startTcpProxy(database.url), startTcpProxy(redis.url)]);
});
afterAll(async () => {
  await Promise.all([postgres.close(), queue.close()]);
  await Promise.all([database.close(), redis.close()]);
});

const started: CliRun[] = [];
afterEach(() => {
  for (const { process: worker } of started) worker.kill('SIGKILL');
  started.length = 0;
  for (const server of [postgres, queue]) server.up();
});

async function startWorker(more: Record<string, string> = {}): Promise<WorkerRun & { readonly port: number }> {
  const port = await freePort();
  const run = startCli(['worker'], {
    env: {
      ...{ DATABASE_URL: postgres.url, REDIS_URL: queue.url, OPENROUTER_API_KEY: 'k' },
      ...{ AGENT_WORKER_PORT: String(port), ...more },
    },
  });
  started.push(run);
  return { ...watchWorker(run), port };
}

const ask = async (port: number, path: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  const text = await response.text();
  return { status: response.status, body: path === '/metrics' ? text : JSON.parse(text) };
};

describe.each([
  ['Postgres', () => postgres, 'DB_UNREACHABLE'],
  ['Redis', () => queue, 'REDIS_UNAVAILABLE'],
])('a worker that starts while %s restarts', (_what, proxyOf, code) => {
  it('waits for it, says so in its log and at /readyz, then does its work', async () => {
    proxyOf().down();
    const worker = await startWorker();
    expect(await worker.says('waiting for a server before the start')).toMatchObject({ level: 'warn', code });
    // It is alive, and must not be ended for what it waits for.
    const statuses = ['/healthz', '/readyz', '/metrics'].map(async (path) => (await ask(worker.port, path)).status);
    expect(await Promise.all(statuses)).toEqual([200, 503, 503]);
    expect((await ask(worker.port, '/readyz')).body).toEqual({ ok: false, starting: true, ending: false });
    expect((await ask(worker.port, '/elsewhere')).status).toBe(404);
    proxyOf().up();
    await worker.says('worker started');
    await untilTrue(async () => (await ask(worker.port, '/readyz')).status === 200);
    worker.process.kill('SIGTERM');
    expect((await worker.ended).exitCode).toBe(0);
  });

  it('ends at once when it is told to', async () => {
    proxyOf().down();
    const worker = await startWorker();
    await worker.says('waiting for a server before the start');
    worker.process.kill('SIGTERM');
    const outcome = await worker.ended;
    expect([outcome.exitCode, outcome.stderr]).toEqual([0, '']);
  });

  it('ends with its code after the time that it was given', async () => {
    proxyOf().down();
    const worker = await startWorker({ AGENT_WORKER_START_SECONDS: '1' });
    const outcome = await worker.ended;
    expect([outcome.exitCode, errorLine(outcome).code]).toEqual([1, code]);
  });
});

it('a worker does not wait for what no restart mends', async () => {
  const worker = await startWorker({ REDIS_URL: `redis://:CANARY@127.0.0.1:${redis.port}` });
  const outcome = await worker.ended;
  expect([outcome.exitCode, errorLine(outcome).code]).toEqual([1, 'REDIS_AUTH_FAILED']);
  expect(outcome.stdout).not.toContain('waits');
});

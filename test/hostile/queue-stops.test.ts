import { connect, type Socket } from 'node:net';

import { sendJson } from '../support/servers/http-server';
import { type ModelServerRequest, textReply, toolReply } from '../support/servers/model-server';
import { LEASE_SECONDS, type Order, settled, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();

const payOnce = ({ messages }: ModelServerRequest): unknown =>
  messages.some(({ role }) => role === 'tool') ? textReply('Over').body : toolReply([{ name: 'pay' }]).body;

async function hasOneAnswer({ task_id: id }: Order): Promise<void> {
  await settled(LEASE_SECONDS * 1500);
  expect(await world.reports(id)).toHaveLength(1);
  expect(await world.bill(id)).toHaveLength(1);
  expect(await world.dead()).toEqual([]);
}

const AT_ONCE = { AGENT_WORKER_GRACE_SECONDS: '0' };

describe('a worker that is told to end at once', () => {
  it('case 40: in its second model call: the first is billed, its tool is not called again, and another worker goes on', async () => {
    world.models().always(payOnce);
    const second = Promise.withResolvers<undefined>();
    world.models().script(
      (request, response) => sendJson(response, payOnce(request)),
      () => second.resolve(undefined),
    );
    const worker = world.startWorker({ env: AT_ONCE });
    const task = world.order();
    await world.push(task);
    await second.promise;
    const { exitCode } = await worker.kill('SIGTERM');
    expect(exitCode).toBe(0);
    expect(await world.bill(task.task_id)).toEqual([{ model_calls: 1, total_tokens: 120 }]);
    expect(await world.reports(task.task_id)).toEqual([]);
    world.startWorker();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'Over' } }]);
    await hasOneAnswer(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
  });

  it('case 40: in a tool call that must not be repeated: nobody calls it again', async () => {
    world.models().always(payOnce);
    const arrived = Promise.withResolvers<undefined>();
    world.tools().answer = () => arrived.resolve(undefined);
    const worker = world.startWorker({ env: AT_ONCE });
    const task = world.order();
    await world.push(task);
    await arrived.promise;
    const { exitCode } = await worker.kill('SIGTERM');
    expect(exitCode).toBe(0);
    expect(await world.bill(task.task_id)).toEqual([{ model_calls: 1, total_tokens: 120 }]);
    world.startWorker();
    await world.reported(task);
    await hasOneAnswer(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
  });

  it('case 40: in a webhook: the result stands, and the webhook comes again under the same key', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const { answer } = world.hooks();
    world.hooks().answer = () => arrived.resolve(undefined);
    const { task_id: id, ...order } = world.order();
    const callback = { result_key: `elo:results:${id}`, notify_webhook: `${world.hooks().url}/${id}` };
    const worker = world.startWorker({ env: AT_ONCE });
    await world.push({ ...order, task_id: id, callback });
    await arrived.promise;
    const { exitCode } = await worker.kill('SIGTERM');
    expect(exitCode).toBe(0);
    world.hooks().answer = answer;
    const { client } = world.redis();
    // Its sender is gone, so nobody has to wait for the end of its time.
    for (const key of await client.keys('elo:agent:delivered:*')) await client.hset(key, 'until', 0);
    const next = world.startWorker();
    await next.says('task done');
    expect(await world.reports(id)).toHaveLength(1);
    expect(await world.calls(id)).toEqual([{ closed: true }]);
    const keys = world.webhooks(id).map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(1);
  });
});

describe('the port for health and metrics', () => {
  it('case 34: is open to this machine only, unless told otherwise, and not at all when it is off', async () => {
    const worker = world.startWorker();
    const { port, host } = await worker.says('worker started');
    expect(host).toBe('127.0.0.1');
    await expect(fetch(`http://127.0.0.2:${port as number}/metrics`)).rejects.toThrow();
    const { port: none } = await world.startWorker({ env: { AGENT_WORKER_PORT: 'off' } }).says('worker started');
    expect(none).toBeUndefined();
  });

  it('case 34: answers and ends although hundreds of connections send their requests byte by byte', async () => {
    const worker = world.startWorker();
    const { port = 0 } = await worker.says('worker started');
    const sockets = Array.from({ length: 300 }, (): Socket => {
      const socket = connect(port as number, '127.0.0.1', () => socket.write('GET /metrics HTTP/1.1\r\nX-a: '));
      return socket.on('error', () => undefined);
    });
    const url = `http://127.0.0.1:${port as number}`;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const task = world.order();
    await world.push(task);
    await world.reported(task);
    expect((await fetch(`${url}/${'x'.repeat(20_000)}`)).status).toBe(431);
    const { exitCode } = await worker.kill('SIGTERM');
    expect(exitCode).toBe(0);
    sockets.forEach((socket) => socket.destroy());
  });
});

describe('many tasks and many workers', () => {
  it('case 37: a tenant that pushes 10,000 tasks does not keep another one waiting, where tenants have a limit', async () => {
    const [row] = await world
      .database()
      .query<{ id: string }>(`INSERT INTO elo_t_tenants (name) VALUES ('Another') RETURNING id`);
    const flood = Array.from({ length: 10_000 }, () => JSON.stringify(world.order()));
    for (let from = 0; from < flood.length; from += 1000) await world.push(...flood.slice(from, from + 1000));
    const quiet = world.order({}, { tenant_id: row?.id });
    await world.push(quiet);
    world.startWorker({ env: { AGENT_TENANT_CONCURRENCY: '2' } });
    await world.reported(quiet);
    const done = world.models().received.length;
    expect(done).toBeLessThan(5000);
  });

  it('case 36: workers with other settings on one list do each task once', async () => {
    const settings: Record<string, string>[] = [
      { AGENT_WORKER_ATTEMPTS: '1', AGENT_LEASE_SECONDS: '2', AGENT_WORKER_CONCURRENCY: '1' },
      { AGENT_WORKER_ATTEMPTS: '9', AGENT_LEASE_SECONDS: '8', AGENT_TENANT_CONCURRENCY: '1' },
      { AGENT_FORWARD_LIST: 'elo:tasks:video' },
    ];
    const workers = settings.map((env) => world.startWorker({ env }));
    await Promise.all(workers.map((worker) => worker.says('worker started')));
    const tasks = Array.from({ length: 60 }, () => world.order());
    await world.push(...tasks);
    await world.reported(...tasks);
    for (const { task_id: id } of tasks) {
      expect(await world.reports(id)).toHaveLength(1);
      expect(await world.calls(id)).toEqual([{ closed: true }]);
    }
    expect(await world.dead()).toEqual([]);
  });
});

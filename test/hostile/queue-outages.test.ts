import type { ServerResponse } from 'node:http';

import { sendJson } from '../support/servers/http-server';
import { type ModelServerRequest, textReply, toolReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { errorLine, runCli } from '../support/worlds/cli';
import { LEASE_SECONDS, type Order, settled, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();

it('case 33: the database is away when a task is loaded; it waits, costs no try, and is done when it is back', async () => {
  const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
  await worker.says('worker started');
  world.postgres().down();
  const task = world.order();
  await world.push(task);
  expect(await worker.says('task deferred', 2)).toMatchObject({ code: 'DB_UNREACHABLE', attempt: 1 });
  expect(world.models().received).toHaveLength(0);
  world.postgres().up();
  const [report] = await world.reported(task);
  expect(report).toMatchObject({ result: { text: 'The answer' }, error: null });
  expect(await world.dead()).toEqual([]);
});

it('case 33: the database is lost at the claim; nothing was spent, and the task is done later', async () => {
  const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
  await worker.says('worker started');
  const before = world.models().received.length;
  const broken = world.postgres().breakAt('INSERT INTO elo_agent_runs');
  const task = world.order();
  await world.push(task);
  await broken;
  await worker.says('task deferred');
  expect(world.models().received).toHaveLength(before);
  world.postgres().up();
  await world.reported(task);
  expect(world.models().received).toHaveLength(before + 1);
  expect(await world.bill(task.task_id)).toEqual([{ model_calls: 1, total_tokens: 120 }]);
  expect(await world.dead()).toEqual([]);
});

describe('the database is lost between a model call and its tool call', () => {
  const payOnce = ({ messages }: ModelServerRequest): unknown =>
    messages.some(({ role }) => role === 'tool') ? textReply('Over').body : toolReply([{ name: 'pay' }]).body;
  const loseAfterFirst = (): void => {
    world.models().always(payOnce);
    world.models().script((request, response) => {
      world.postgres().down();
      sendJson(response, payOnce(request));
    });
  };
  const everythingIsBilled = async (taskId: string): Promise<void> => {
    await untilTrue(async () => (await world.bill(taskId))[0]?.model_calls === 2);
    expect(await world.bill(taskId)).toEqual([{ model_calls: 2, total_tokens: 240 }]);
    expect(await world.calls(taskId)).toEqual([{ closed: true }, { closed: true }]);
    expect(await world.dead()).toEqual([]);
  };

  it('case 33: for a moment: the tool waits for the ledger, and is called once', async () => {
    loseAfterFirst();
    world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    const task = world.order();
    await world.push(task);
    await untilTrue(() => Promise.resolve(world.models().left() === 0));
    await world.postgres().refused();
    // Whoever cannot write down that the tool is called does not call it.
    expect(world.received('pay', task.task_id)).toHaveLength(0);
    world.postgres().up();
    await world.reported(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
    await everythingIsBilled(task.task_id);
  });

  it('case 33: for long: the tool is not called, and the task waits; then the tool is called once and all is billed', async () => {
    loseAfterFirst();
    const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    const task = world.order();
    await world.push(task);
    expect(await worker.says('task deferred')).toMatchObject({ code: 'DB_UNREACHABLE', attempt: 1 });
    expect(world.received('pay', task.task_id)).toHaveLength(0);
    expect(await world.reports(task.task_id)).toEqual([]);
    world.postgres().up();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'Over' }, error: null }]);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
    const asked = world.models().received.filter(({ messages }) => JSON.stringify(messages).includes(task.task_id));
    await untilTrue(async () => (await world.bill(task.task_id))[0]?.model_calls === asked.length);
    expect(await world.bill(task.task_id)).toEqual([{ model_calls: asked.length, total_tokens: 120 * asked.length }]);
    expect((await world.calls(task.task_id)).every(({ closed }) => closed)).toBe(true);
    expect(await world.dead()).toEqual([]);
  });
});

it('case 33: the database is lost before the bill is written: the answer goes out, and the bill is written once it is back', async () => {
  world.models().script((_request, response) => {
    world.postgres().down();
    sendJson(response, textReply('Late but billed', { prompt: 1000, completion: 100 }).body);
  });
  const worker = world.startWorker();
  const task = world.order();
  await world.push(task);
  const [report] = await world.reported(task);
  expect(report).toMatchObject({ result: { text: 'Late but billed' }, warnings: [{ code: 'LEDGER_WRITE_DELAYED' }] });
  expect(await world.bill(task.task_id)).toEqual([]);
  // Whoever kept the bill is gone, and another process writes it.
  await worker.kill();
  world.postgres().up();
  world.startWorker();
  await world.push(world.order());
  await untilTrue(async () => (await world.bill(task.task_id)).length > 0);
  expect(await world.bill(task.task_id)).toEqual([{ model_calls: 1, total_tokens: 1100 }]);
  expect(await world.reports(task.task_id)).toHaveLength(1);
});

describe('Redis', () => {
  /** The provider answers when the test says so. */
  const held = (): { readonly asked: () => Promise<void>; readonly answer: () => void } => {
    const waiting = Promise.withResolvers<undefined>();
    let asked = 0;
    const reply = async (_request: ModelServerRequest, response: ServerResponse): Promise<void> => {
      asked++;
      await waiting.promise;
      sendJson(response, textReply('The answer').body);
    };
    world.models().script(...Array.from({ length: TASKS }, () => reply));
    return {
      asked: () => untilTrue(() => Promise.resolve(asked === TASKS), 60_000),
      answer: () => waiting.resolve(undefined),
    };
  };
  const TASKS = 5;
  const orders = (): Order[] =>
    Array.from({ length: TASKS }, () => {
      const { task_id: id, ...task } = world.order();
      const callback = { result_key: `elo:results:${id}`, notify_webhook: `${world.hooks().url}/${id}` };
      return { ...task, task_id: id, callback };
    });
  const eachIsDoneOnce = async (tasks: readonly Order[]): Promise<void> => {
    await world.reported(...tasks);
    await untilTrue(() => Promise.resolve(tasks.every(({ task_id: id }) => world.webhooks(id).length > 0)));
    // A second result would come when the lost leases are over.
    await settled(LEASE_SECONDS * 2000);
    for (const { task_id: id } of tasks) {
      expect(await world.reports(id)).toHaveLength(1);
      expect(world.webhooks(id)).toHaveLength(1);
      expect(await world.bill(id)).toEqual([{ model_calls: 1, total_tokens: 120 }]);
    }
    expect(await world.dead()).toEqual([]);
    const { active, waiting, delayed, pending } = await queueStatus();
    expect({ active, waiting, delayed, pending }).toEqual({ active: 0, waiting: 0, delayed: 0, pending: 0 });
  };
  const queueStatus = async (): Promise<Record<string, unknown>> => {
    const { stdout } = await runCli(['queue', 'status'], { env: { REDIS_URL: world.redis().url } });
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  it.each([['in order', 'SIGTERM'] as const, ['by SIGKILL', 'SIGKILL'] as const])(
    'case 34: restarted %s while tasks are in flight: each has one result, one webhook, one bill',
    async (_how, signal) => {
      const model = held();
      const worker = world.startWorker();
      const tasks = orders();
      await world.push(...tasks);
      await model.asked();
      await world.redis().restart(signal);
      model.answer();
      await eachIsDoneOnce(tasks);
      expect(worker.process.exitCode).toBeNull();
    },
  );

  it('case 34: a failover that leaves a replica behind the address: nothing is lost, and work goes on with the next master', async () => {
    const model = held();
    const worker = world.startWorker();
    const tasks = orders();
    await world.push(...tasks);
    await model.asked();
    const { client } = world.redis();
    await client.replicaof('127.0.0.1', '1');
    try {
      model.answer();
      const before = worker.lines().length;
      await settled(5000);
      expect(await world.reports(tasks[0]?.task_id ?? '')).toEqual([]);
      // It does not flood the log while it waits.
      expect(worker.lines().length - before).toBeLessThan(100);
    } finally {
      await client.replicaof('NO', 'ONE');
    }
    await eachIsDoneOnce(tasks);
  });

  it('case 34: the password changes and connections break: the worker waits without noise, and goes on when it is let in', async () => {
    const model = held();
    const worker = world.startWorker();
    const { port = 0 } = await worker.says('worker started');
    const tasks = orders();
    await world.push(...tasks);
    await model.asked();
    const { client, password } = world.redis();
    await client.config('SET', 'requirepass', 'another');
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    model.answer();
    await untilTrue(async () => (await fetch(`http://127.0.0.1:${port as number}/healthz`)).status === 503);
    const before = worker.lines().length;
    await settled(3000);
    expect(worker.lines().length - before).toBeLessThan(60);
    await client.config('SET', 'requirepass', password);
    await eachIsDoneOnce(tasks);
    expect(worker.output()).not.toContain('CANARY');
  });

  it('case 34: a Redis that begins to evict while the worker runs is told of', async () => {
    const worker = world.startWorker();
    await worker.says('worker started');
    const { client } = world.redis();
    await client.config('SET', 'maxmemory', '500mb');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      await untilTrue(() => Promise.resolve(worker.output().includes('QUEUE_REDIS_EVICTS')), 45_000);
      const refused = await world.startWorker().ended;
      expect(errorLine(refused).code).toBe('QUEUE_REDIS_EVICTS');
    } finally {
      await client.config('SET', 'maxmemory', '0');
      await client.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });
});

import { sendJson } from '../support/servers/http-server';
import { type ModelServerRequest, type ScriptedReply, textReply, toolReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { LEASE_SECONDS, type Order, settled, type WorkerRun, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();

/** Replies that are held back until they are let go, each when it is asked for. */
function heldReplies(
  count: number,
  text = 'The held answer',
): { readonly asked: () => Promise<void>; readonly letGo: () => void } {
  const waiting = Promise.withResolvers<undefined>();
  let asked = 0;
  const reply: ScriptedReply = async (_request, response) => {
    asked++;
    await waiting.promise;
    sendJson(response, textReply(text).body);
  };
  world.models().script(...Array.from({ length: count }, () => reply));
  return {
    asked: () => untilTrue(() => Promise.resolve(asked >= count), 60_000),
    letGo: () => waiting.resolve(undefined),
  };
}

/** Pays, then answers. */
const payOnce = ({ messages }: ModelServerRequest): unknown =>
  messages.some(({ role }) => role === 'tool') ? textReply('Over').body : toolReply([{ name: 'pay' }]).body;

async function hasOneAnswer({ task_id: id }: Order): Promise<void> {
  await untilTrue(async () => (await world.bill(id)).length > 0);
  // Another one would come when the lost leases are over.
  await settled(LEASE_SECONDS * 1500);
  expect(await world.reports(id)).toHaveLength(1);
  expect(await world.bill(id)).toHaveLength(1);
  expect(await world.dead()).toEqual([]);
}

describe('a worker that is killed', () => {
  it('case 35: in a model call: another one does the task, and the call that nobody heard the end of is on record as open', async () => {
    const held = heldReplies(1);
    const worker = world.startWorker();
    const task = world.order();
    await world.push(task);
    await held.asked();
    await worker.kill();
    world.startWorker();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'The answer' } }]);
    await hasOneAnswer(task);
    expect(await world.calls(task.task_id)).toEqual([{ closed: false }, { closed: true }]);
    expect(await world.bill(task.task_id)).toEqual([{ model_calls: 1, total_tokens: 120 }]);
    held.letGo();
  });

  it('case 35: in a tool call that must not be repeated: it is not sent again, and its model call is billed once', async () => {
    world.models().always(payOnce);
    const arrived = Promise.withResolvers<undefined>();
    world.tools().answer = () => arrived.resolve(undefined);
    const worker = world.startWorker();
    const task = world.order();
    await world.push(task);
    await arrived.promise;
    await worker.kill();
    world.startWorker();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'Over' } }]);
    await hasOneAnswer(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
    expect(await world.bill(task.task_id)).toEqual([{ model_calls: 2, total_tokens: 240 }]);
  });

  it('case 35: again and again, at any moment: each of the tasks has one answer', async () => {
    const tasks = Array.from({ length: 20 }, () => world.order());
    await world.push(...tasks);
    for (const afterMs of [0, 30, 80, 150]) {
      const worker = world.startWorker({ env: { AGENT_WORKER_CONCURRENCY: '3' } });
      await worker.says('worker started');
      await settled(afterMs);
      await worker.kill();
    }
    world.startWorker();
    await world.reported(...tasks);
    await settled(LEASE_SECONDS * 1500);
    for (const { task_id: id } of tasks) {
      expect(await world.reports(id)).toHaveLength(1);
      expect(await world.bill(id)).toHaveLength(1);
    }
    expect(await world.dead()).toEqual([]);
  });
});

describe('a task that is delivered twice at the same time', () => {
  it('case 36: by two queues: one run, one line, one result, one webhook', async () => {
    const held = heldReplies(1);
    const task = world.order({}, { total_tasks: 1 });
    const { task_id: id } = task;
    const callback = {
      result_key: `elo:results:${id}`,
      counter_key: `elo:counter:${id}`,
      status_key: `elo:status:${id}`,
      notify_webhook: `${world.hooks().url}/${id}`,
    };
    const lists = ['elo:tasks:pending', 'elo:tasks:other'];
    const workers = lists.map((list) => world.startWorker({ env: { AGENT_TASK_LIST: list } }));
    await Promise.all(workers.map((worker) => worker.says('worker started')));
    for (const list of lists) await world.redis().client.lpush(list, JSON.stringify({ ...task, callback }));
    await held.asked();
    held.letGo();
    await Promise.all(workers.map((worker) => worker.says('task done')));
    await hasOneAnswer(task);
    expect(await world.redis().client.get(callback.counter_key)).toBe('1');
    expect(world.webhooks(id)).toHaveLength(1);
    expect(await world.calls(id)).toEqual([{ closed: true }]);
  });

  it('case 36: pushed fifty times to three workers: one run, one line, one result', async () => {
    const task = world.order();
    await world.push(...Array.from({ length: 50 }, () => task));
    const workers = Array.from({ length: 3 }, () => world.startWorker());
    await Promise.all(workers.map((worker) => worker.says('worker started')));
    await world.push(...Array.from({ length: 50 }, () => task));
    await world.reported(task);
    await hasOneAnswer(task);
    expect(await world.calls(task.task_id)).toEqual([{ closed: true }]);
  });
});

describe('a worker whose event loop is blocked for longer than its lease', () => {
  /** How long SIGUSR2 blocks it. */
  const BLOCKED_SECONDS = LEASE_SECONDS * 4;
  const preload = `process.on('SIGUSR2', () => {
    const end = performance.now() + ${BLOCKED_SECONDS * 1000};
    while (performance.now() < end);
  });`;

  it('case 42: in a model call: another one does the task, and the first adds neither a result nor a tool call', async () => {
    world.models().always(payOnce);
    const first = heldPay();
    const blocked = world.startWorker({ preload });
    const task = world.order();
    await world.push(task);
    await first.asked();
    const other = world.startWorker();
    await other.says('worker started');
    blocked.process.kill('SIGUSR2');
    first.letGo();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'Over' } }]);
    await other.says('task done');
    // It comes to itself, with a reply that asks for the tool.
    await untilAwake(blocked);
    await hasOneAnswer(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
  });

  it('case 42: in a tool call: nobody calls the tool again', async () => {
    world.models().always(payOnce);
    const arrived = Promise.withResolvers<undefined>();
    const answer = Promise.withResolvers<undefined>();
    world.tools().answer = async (_request, response) => {
      arrived.resolve(undefined);
      await answer.promise;
      sendJson(response, { ok: true });
    };
    const blocked = world.startWorker({ preload });
    const task = world.order();
    await world.push(task);
    await arrived.promise;
    await world.startWorker().says('worker started');
    blocked.process.kill('SIGUSR2');
    answer.resolve(undefined);
    await world.reported(task);
    await untilAwake(blocked);
    await hasOneAnswer(task);
    expect(world.received('pay', task.task_id)).toHaveLength(1);
  });

  it('case 42: and whose successor is killed: a third one still gives the answer', async () => {
    const held = heldReplies(2);
    const blocked = world.startWorker({ preload });
    const task = world.order();
    await world.push(task);
    await untilTrue(() => Promise.resolve(world.models().left() === 1));
    const successor = world.startWorker();
    await successor.says('worker started');
    blocked.process.kill('SIGUSR2');
    await held.asked();
    successor.process.kill('SIGSTOP');
    held.letGo();
    await untilAwake(blocked);
    await blocked.kill();
    await successor.kill();
    world.startWorker();
    expect(await world.reported(task)).toMatchObject([{ error: null }]);
    await hasOneAnswer(task);
  });

  it('case 42: and whose own reply is a failure for good: the answer is that of its successor', async () => {
    const held = heldPair();
    const blocked = world.startWorker({ preload });
    const task = world.order();
    await world.push(task);
    await held.asked(1);
    const successor = world.startWorker();
    await successor.says('worker started');
    blocked.process.kill('SIGUSR2');
    await held.asked(2);
    held.refuseFirst();
    await untilAwake(blocked);
    expect(await world.reports(task.task_id)).toEqual([]);
    held.answerSecond();
    expect(await world.reported(task)).toMatchObject([{ result: { text: 'The answer' }, error: null }]);
    await hasOneAnswer(task);
  });

  /** Two replies: one that no retry mends, and one that is good. */
  function heldPair(): {
    readonly asked: (count: number) => Promise<void>;
    readonly refuseFirst: () => void;
    readonly answerSecond: () => void;
  } {
    const first = Promise.withResolvers<undefined>();
    const second = Promise.withResolvers<undefined>();
    let asked = 0;
    world.models().script(
      async (_request, response) => {
        asked++;
        await first.promise;
        sendJson(response, { error: { message: 'no such model' } }, 400);
      },
      async (_request, response) => {
        asked++;
        await second.promise;
        sendJson(response, textReply('The answer').body);
      },
    );
    return {
      asked: (count) => untilTrue(() => Promise.resolve(asked >= count), 60_000),
      refuseFirst: () => first.resolve(undefined),
      answerSecond: () => second.resolve(undefined),
    };
  }

  /** Its log goes on. */
  async function untilAwake(worker: WorkerRun): Promise<void> {
    const { port } = await worker.says('worker started');
    await untilTrue(async () => {
      const answer = await fetch(`http://127.0.0.1:${port as number}/healthz`).catch(() => undefined);
      return answer?.status === 200;
    }, 60_000);
    await settled(500);
  }

  function heldPay(): { readonly asked: () => Promise<void>; readonly letGo: () => void } {
    const waiting = Promise.withResolvers<undefined>();
    let isAsked = false;
    world.models().script(async (request, response) => {
      isAsked = true;
      await waiting.promise;
      sendJson(response, payOnce(request));
    });
    return { asked: () => untilTrue(() => Promise.resolve(isAsked)), letGo: () => waiting.resolve(undefined) };
  }
});

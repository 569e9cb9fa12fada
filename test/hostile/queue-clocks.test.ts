import { sendJson } from '../support/servers/http-server';
import { textReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { LEASE_SECONDS, settled, type WorkerRun, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();

const HOUR = 3_600_000;
/** The machine's clock is wrong by so much; timers and performance.now() are not. */
const shiftedBy = (ms: number): string => `{
  const Right = Date;
  globalThis.Date = class extends Right {
    constructor(...given) { given.length > 0 ? super(...given) : super(Right.now() + ${ms}); }
    static now() { return Right.now() + ${ms}; }
  };
}`;
const skewedWorker = (ms: number, env = {}): WorkerRun => world.startWorker({ preload: shiftedBy(ms), env });

const SKEWS = [
  ['ahead', HOUR],
  ['behind', -HOUR],
] as const;

describe.each(SKEWS)('a worker whose clock is an hour %s', (_name, skew) => {
  it('case 39: shares the work with one whose clock is right; nobody takes the tasks of another for lost', async () => {
    world.models().always(() => textReply('The answer').body);
    const release = Promise.withResolvers<undefined>();
    let asked = 0;
    const slow = async (_request: unknown, response: Parameters<typeof sendJson>[0]): Promise<void> => {
      asked++;
      await release.promise;
      sendJson(response, textReply('The answer').body);
    };
    world.models().script(...Array.from({ length: 6 }, () => slow));
    const workers = [
      skewedWorker(skew, { AGENT_WORKER_CONCURRENCY: '3' }),
      world.startWorker({ env: { AGENT_WORKER_CONCURRENCY: '3' } }),
    ];
    await Promise.all(workers.map((worker) => worker.says('worker started')));
    const tasks = Array.from({ length: 6 }, () => world.order());
    await world.push(...tasks);
    await untilTrue(() => Promise.resolve(asked === 6));
    // Longer than every lease there is.
    await settled(LEASE_SECONDS * 2000);
    expect(asked).toBe(6);
    release.resolve(undefined);
    await world.reported(...tasks);
    for (const { task_id: id } of tasks) {
      expect(await world.reports(id)).toHaveLength(1);
      expect(await world.calls(id)).toEqual([{ closed: true }]);
      expect(await world.redis().client.ttl(`elo:results:${id}`)).toBeGreaterThan(200);
      expect(await world.redis().client.ttl(`elo:results:${id}`)).toBeLessThanOrEqual(300);
    }
    for (const worker of workers) expect(worker.output()).not.toContain('lost consumer');
  });

  it('case 39: is killed, and its task is done as soon as its lease is over', async () => {
    let isAsked = false;
    world.models().script(() => {
      isAsked = true;
    });
    const skewed = skewedWorker(skew);
    const task = world.order();
    await world.push(task);
    await untilTrue(() => Promise.resolve(isAsked), 60_000);
    await skewed.kill();
    world.startWorker();
    await world.reported(task);
    expect(await world.reports(task.task_id)).toHaveLength(1);
  });

  it('case 39: put a task off and died: the task is done no later for that', async () => {
    const skewed = skewedWorker(skew);
    await skewed.says('worker started');
    world.postgres().down();
    const task = world.order();
    await world.push(task);
    await skewed.says('task deferred');
    await skewed.kill();
    world.postgres().up();
    world.startWorker();
    await world.reported(task);
  });

  it('case 39: says that its clock is wrong', async () => {
    const worker = skewedWorker(skew);
    const { ahead_ms: ahead } = await worker.says(
      'the clock of this machine is not that of Redis: times between tries do not hold',
    );
    expect(Math.abs((ahead as number) - skew)).toBeLessThan(60_000);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';

import { NodeOperationError } from 'n8n-workflow';

import { ERROR_CODES } from '../../runtime/worker';
import { untilTrue } from '../support/values/until';
import { errorLine } from '../support/worlds/cli';
import { startTrigger, type TestTrigger } from '../support/worlds/trigger';
import { type WorkerRun, workerWorld } from '../support/worlds/worker-world';

/** `QUEUE_STARTS=30 QUEUE_SEED=2 npm run test:long -- queue-restarts` tries more, at other moments. */
const STARTS = Number(process.env.QUEUE_STARTS ?? 6);
const SEED = Number(process.env.QUEUE_SEED ?? 1);
const WORKERS = 3;
const FIRST_MS = 200;
/** The longest that a consumer may take to find that it is stuck, and to mend that. */
const NEXT_TASK_MS = 20_000;
/** A server that comes back and goes away again. */
const FLAPS = 2;

const world = workerWorld();
let random = SEED;

/** From 0 to below `limit`; the same ones for the same seed. */
function next(limit: number): number {
  random = (random * 48_271) % 2_147_483_647;
  return random % limit;
}

interface Taker {
  readonly name: string;
  readonly list: string;
  /** Its code, when it has ended with one. */
  readonly ended: () => string | undefined;
  readonly hasDone: (taskId: string) => Promise<boolean>;
}

function startTaker(name: string): Taker & { readonly worker: WorkerRun } {
  const list = `tasks:${name}`;
  const worker = world.startWorker({ env: { AGENT_TASK_LIST: list } });
  let ended: string | undefined;
  void worker.ended.then((outcome) => (ended = outcome.exitCode === 0 ? '' : errorLine(outcome).code));
  return {
    ...{ name, list, worker },
    ended: () => ended,
    hasDone: async (taskId) => (await world.reports(taskId)).length > 0,
  };
}

function startTriggerTaker(name: string): Taker & { readonly end: () => Promise<void> } {
  const list = `tasks:${name}`;
  let trigger: TestTrigger | undefined;
  let code: string | undefined;
  const starting = startTrigger({ redis: world.redis(), parameters: { taskList: list } }).then(
    (started) => (trigger = started),
    (error: unknown) => {
      if (!(error instanceof NodeOperationError)) throw error;
      code = /\(([A-Z_]+)\)$/.exec(error.description ?? '')?.[1];
    },
  );
  return {
    ...{ name, list },
    ended: () => code,
    hasDone: (taskId) => Promise.resolve(trigger?.emitted.some(({ json }) => json.task_id === taskId) === true),
    end: async () => {
      await starting;
      for (const execution of trigger?.emitted ?? []) execution.end('success');
      await trigger?.close();
    },
  };
}

/** Resolves when the first of them has connected. */
async function untilConnected(): Promise<void> {
  const { client } = world.redis();
  const count = async (): Promise<number> =>
    String(await client.client('LIST'))
      .trim()
      .split('\n').length;
  await untilTrue(async () => (await count()) > 1);
}

async function restartSoon(): Promise<void> {
  await sleep(next(FIRST_MS));
  await world.redis().restart(next(2) === 0 ? 'SIGTERM' : 'SIGKILL');
}

/** Gives it a task; the seconds until that was taken and done, or undefined when it has ended instead. */
async function takeNext(taker: Taker): Promise<number | undefined> {
  const order = world.order();
  await world.redis().client.lpush(taker.list, JSON.stringify(order));
  const pushedAt = performance.now();
  const isSettled = async (): Promise<boolean> => taker.ended() !== undefined || (await taker.hasDone(order.task_id));
  await untilTrue(isSettled, NEXT_TASK_MS).catch((error: unknown) => {
    throw new Error(`${taker.name} takes no task`, { cause: error });
  });
  return taker.ended() === undefined ? (performance.now() - pushedAt) / 1000 : undefined;
}

it(
  `takes the next task after each of ${STARTS} starts in whose first moments Redis went away`,
  async () => {
    const seconds: number[] = [];
    const codes: string[] = [];
    for (let start = 0; start < STARTS; start++) {
      const workers = Array.from({ length: WORKERS }, (_, no) => startTaker(`worker-${start}-${no}`));
      // Some are caught while they connect and end with a code; the others begin to wait for tasks.
      await (start % 3 === 0 ? untilConnected() : workers[next(WORKERS)]?.worker.says('worker started'));
      const trigger = startTriggerTaker(`trigger-${start}`);
      try {
        for (let flap = 0; flap <= (start % 2) * FLAPS; flap++) await restartSoon();
        const taken = await Promise.all([...workers, trigger].map(takeNext));
        seconds.push(...taken.filter((time) => time !== undefined));
      } finally {
        await trigger.end();
      }
      await Promise.all(workers.map(({ worker }) => worker.kill('SIGTERM')));
      codes.push(...[...workers, trigger].map((taker) => taker.ended() ?? '').filter((code) => code !== ''));
    }
    for (const code of codes) expect(Object.keys(ERROR_CODES)).toContain(code);
    const longest = Math.max(...seconds).toFixed(1);
    console.info(`${seconds.length} took their next task within ${longest} s, ${codes.length} ended with a code`);
    expect(seconds.length).toBeGreaterThan(0);
  },
  STARTS * (NEXT_TASK_MS + 40_000),
);

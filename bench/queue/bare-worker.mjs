// The bare BullMQ worker in a process of its own. Its jobs are added before the clock starts: ours has to take its tasks off
// a list as well.
import { Queue } from 'bullmq';

import { startProcess } from '../loop/start-process.mjs';
import { messageAt, now } from './scenario.mjs';

const here = (name) => new URL(name, import.meta.url);
const QUEUE = 'bare';

export async function startBareWorker({ stack, database, concurrency }) {
  const queue = new Queue(QUEUE, { connection: { url: stack.redisUrl(database) } });
  const child = startProcess(here('bare-worker-process.mjs'), [], {
    execArgv: ['--expose-gc', '--import', here('probe.mjs').href],
    env: {
      PATH: process.env.PATH,
      REDIS_URL: stack.redisUrl(database),
      MODEL_URL: stack.model.url,
      QUEUE,
      CONCURRENCY: String(concurrency),
    },
  });
  await child.nextMessage();

  async function run({ tasks, withTool }) {
    // One task alone is timed from the push on, so its worker has to be waiting.
    if (tasks > 1) await child.ask({ pause: true });
    const add = () => {
      const job = { name: 'task', data: { message: messageAt(now()), withTool } };
      return queue.addBulk(Array.from({ length: tasks }, () => job));
    };
    if (tasks > 1) await add();
    const startedAt = performance.now();
    const done = child.ask({ expect: tasks, resume: true });
    if (tasks === 1) await add();
    await done;
    return { wallMs: performance.now() - startedAt };
  }

  return {
    run,
    child,
    stop: async () => {
      child.stop();
      await queue.close();
    },
  };
}

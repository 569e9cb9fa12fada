import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

import { startConsumer } from '../../../runtime/worker';

/** Where a consumer dies by SIGKILL, as if the machine had lost its power. */
export type Death = 'never' | 'after-take' | 'after-add' | 'in-handler';

/** A consumer as a process of its own: `[url, list, death]` as arguments. It writes what it did to `<list>-done`. */
const [, , url = '', list = '', death = 'never'] = process.argv;

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

if (death === 'after-take') Queue.prototype.addBulk = die;
if (death === 'after-add') {
  const addBulk = Reflect.get(Queue.prototype, 'addBulk');
  Queue.prototype.addBulk = async function add(this: Queue, jobs) {
    await addBulk.call(this, jobs);
    return die();
  };
}

const done = new Redis(url);
void startConsumer(
  { redis: { url }, list, failedList: `${list}-failed`, leaseMs: 1000, attempts: 3 },
  {
    handle: async ({ task }) => {
      if (death === 'in-handler') {
        await done.rpush(`${list}-begun`, task.task_id);
        await die();
      }
      await done.rpush(`${list}-done`, task.task_id);
    },
    onDead: () => Promise.resolve(),
    log: () => undefined,
  },
);

import { readConsumerSettings } from './config/consumer-config';
import type { Consumer, ConsumerConfig, ConsumerParts, TakenTask } from './contracts/consumer';
import type { Log } from './contracts/event';
import type { KeptEnd, UnwrittenEnds } from './contracts/ledger/outbox';
import { checkLists, checkRedis } from './queue/check-redis';
import { createConsumer } from './queue/consumer';
import type { ConsumerClients } from './queue/consumer-parts';
import { openQueue, sortOptions } from './queue/consumer-session';
import { createTaskStore } from './queue/intake/task-store';
import { queueKeys } from './queue/keys';
import { createQueueAdmin, type QueueAdmin, type QueueStatus } from './queue/queue-admin';
import { takeByHand } from './queue/take-by-hand';
import { dropUnwrittenEnd, readBacklog, readUnwrittenEnds } from './storage/redis/unwritten-ends';
import { openWaitingClient } from './storage/redis/waiting-client';

export { createFailureDelivery, type FailureDelivery } from './compose/failure-delivery';
export type { Consumer, ConsumerConfig, ConsumerHealth, ConsumerParts, TakenTask } from './contracts/consumer';
export type { Log } from './contracts/event';
export type { DeadTask, HandleTask, QueueDelivery, QueueTask } from './contracts/queue';
export { ERROR_CODES } from './errors/codes';
export { isRuntimeError, RuntimeError } from './errors/runtime-error';
export type { QueueAdmin, QueueStatus, RetriedTasks } from './queue/queue-admin';

type Client = Awaited<ReturnType<typeof openWaitingClient>>;

/**
 * Takes tasks off the Redis list and has them done. Installs no signal handlers, prints nothing, ends no process. Rejects with
 * CONFIG_INVALID, REDIS_UNAVAILABLE, REDIS_AUTH_FAILED, QUEUE_REDIS_EVICTS, QUEUE_REDIS_UNSUITABLE or QUEUE_KEY_UNUSABLE; when Redis is lost later,
 * everything waits until it is back, and connections that get stuck are made anew.
 */
export async function startConsumer(config: ConsumerConfig, parts: ConsumerParts): Promise<Consumer> {
  const settings = readConsumerSettings(config);
  let isClosed = false;
  const log: Log = (...line) => {
    if (!isClosed) parts.log(...line);
  };
  const consumer = await createConsumer(() => openClients(config, log), settings, { ...parts, log });
  return { ...consumer, close: (options) => consumer.close(options).finally(() => (isClosed = true)) };
}

/**
 * Takes one task off the list by hand, with the same checks: what cannot be a task goes to the dead-letter list, foreign ones to
 * the forward list. Waits for one up to `waitMs`; undefined when none came, or the queue is paused. Rejects like startConsumer.
 */
export async function takeOne(
  config: ConsumerConfig,
  options: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
): Promise<TakenTask | undefined> {
  const settings = readConsumerSettings(config);
  const client = await openClient(config);
  const store = createTaskStore(client, queueKeys(settings));
  const close = (): void => client.disconnect();
  const taken = await takeByHand(store, sortOptions(settings, store), options).catch((error: unknown) => {
    close();
    throw error;
  });
  if (taken === undefined) close();
  return taken && { ...taken, done: () => taken.done().finally(close), putBack: () => taken.putBack().finally(close) };
}

interface OpenedAdmin extends QueueAdmin {
  readonly status: () => Promise<QueueStatus & { readonly unwritten: UnwrittenEnds }>;
  /** Forgets the end of a run that the ledger refuses or no installation takes up, and gives what has to be booked by hand. */
  readonly dropUnwritten: (id: string) => Promise<KeptEnd | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * Looks after the queue of a list: counts, pause, resume, another chance for dead tasks, ends of runs that are not on record.
 * Rejects like startConsumer.
 */
export async function openQueueAdmin(
  config: Pick<ConsumerConfig, 'redis' | 'list' | 'failedList'>,
): Promise<OpenedAdmin> {
  const keys = queueKeys(readConsumerSettings(config));
  const client = await openClient(config);
  const queue = openQueue(client, keys);
  const admin = createQueueAdmin(client, queue, keys);
  return {
    ...admin,
    status: async () => ({ ...(await admin.status()), unwritten: await readUnwrittenEnds(client) }),
    dropUnwritten: (id) => dropUnwrittenEnd(client, id),
    close: () => queue.close().finally(() => client.disconnect()),
  };
}

async function openClients(config: ConsumerConfig, log: Log): Promise<ConsumerClients> {
  let isEnded = false;
  const commands = await openClient(config, (...line) => {
    if (!isEnded) log(...line);
  });
  const blocking = await openClient(config).catch((error: unknown) => {
    commands.disconnect();
    throw error;
  });
  return {
    commands,
    blocking,
    readBacklog: () => readBacklog(commands),
    end: () => {
      isEnded = true;
      for (const client of [commands, blocking]) {
        // Told again, ioredis would wait two seconds for a socket that is closed already, and the process with it.
        if (client.status !== 'end') client.disconnect();
      }
    },
  };
}

function openClient(config: ConsumerConfig, log?: Log): Promise<Client> {
  const { redis } = config;
  const keys = queueKeys(readConsumerSettings(config));
  return openWaitingClient(
    { rejectUnauthorized: true, ...redis },
    {
      check: async (client) => {
        await checkRedis(client);
        await checkLists(client, keys);
      },
      onLost: () => log?.('warn', 'the connection to Redis is lost'),
      onBack: () => log?.('info', 'Redis is back'),
    },
  );
}

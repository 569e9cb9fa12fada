import { setMaxListeners } from 'node:events';

import pLimit from 'p-limit';

import type { Consumer, ConsumerHealth, ConsumerParts, ConsumerSettings } from '../contracts/consumer';
import { TASK_TYPES } from '../contracts/queue';
import { describeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { sleep } from '../util/clock';
import type { ConsumerClients, SessionParts } from './consumer-parts';
import { type ConsumerSession, startSession } from './consumer-session';
import { queueKeys } from './keys';
import { createMetrics } from './metrics';
import { countTakeable, countTasks, isEmpty, type QueueCounts } from './queue-counts';
import { createStalledConsumers } from './stalled-consumers';
import { type ConsumerWatch, type Stall, watchConsumer } from './watch-consumer';

/** Opens connections to a Redis that is there and fit for a queue, or rejects. */
type OpenClients = () => Promise<ConsumerClients>;

const GRACE_MS = 30_000;
/** What closing takes when Redis is away, after the tasks have ended. */
const CLOSE_MS = 5000;
const IDLE_POLL_MS = 100;
const ANSWER_MS = 2000;

/** Takes tasks and has them done until it is closed. */
export async function createConsumer(
  open: OpenClients,
  settings: ConsumerSettings,
  parts: ConsumerParts,
): Promise<Consumer> {
  const keys = queueKeys(settings);
  const giveBack = new AbortController();
  setMaxListeners(0, giveBack.signal);
  const readCounts = (): Promise<QueueCounts> => withinTime(countTasks(sessions.now().clients.commands, keys));
  const metrics = createMetrics({
    taskTypes: [...new Set([...TASK_TYPES, ...settings.taskTypes])],
    readCounts,
    readBacklog: () => withinTime(sessions.now().clients.readBacklog()),
    isStalled: () => watch.isStalled(),
    ofProcess: settings.processMetrics,
  });
  const limit = pLimit(settings.concurrency);
  const shared: SessionParts = { keys, settings, parts, metrics, limit, signal: giveBack.signal };
  const sessions = startSessions(await open(), open, shared);
  const watch = startWatch(sessions, shared);

  const close = async (graceMs: number): Promise<void> => {
    watch.stop();
    const grace = setTimeout(() => giveBack.abort(), graceMs);
    const tooLong = new AbortController();
    await Promise.race([sessions.close(), sleep(graceMs + CLOSE_MS, tooLong.signal)]).catch(() => undefined);
    tooLong.abort();
    clearTimeout(grace);
    giveBack.abort();
    sessions.disconnect();
  };
  let closing: Promise<void> | undefined;
  return {
    close: ({ graceMs = GRACE_MS } = {}) => (closing ??= close(graceMs)),
    health: async () => {
      const isAnswering = sessions.now().clients.commands.status === 'ready';
      const counts = isAnswering ? await readCounts().catch(() => undefined) : undefined;
      return toHealth(counts, { stalled: watch.isStalled(), running: limit.activeCount });
    },
    metrics: metrics.text,
    idle: async () => {
      const isIdle = (): Promise<boolean> => withinTime(isEmpty(sessions.now().clients.commands, keys));
      while (closing === undefined && !(await isIdle().catch(() => false))) await sleep(IDLE_POLL_MS);
    },
  };
}

/** A consumer that stalls says so, and gets another session. */
function startWatch(sessions: Sessions, { keys, settings, parts, metrics }: SessionParts): ConsumerWatch {
  const commands = (): ConsumerClients['commands'] => sessions.now().clients.commands;
  const stalled = createStalledConsumers(commands, keys);
  const watch = watchConsumer({
    session: sessions.now,
    concurrency: settings.concurrency,
    readTakeable: () => withinTime(countTakeable(commands(), keys)),
    onStalled: async ({ reason, isNew, isOverdue }: Stall) => {
      const { code, message } = describeError('QUEUE_CONSUMER_STALLED', { reason });
      if (isNew) parts.log('error', message, { code });
      // Redis may be going away again.
      await withinTime(stalled.tell()).catch(() => undefined);
      if (!isOverdue || !(await sessions.renew())) return;
      watch.onRenewed();
      metrics.countRestart();
      parts.log('warn', 'the consumer has reconnected', { code });
    },
  });
  return watch;
}

/** The session that takes tasks, and those before it that still have tasks in hand. */
interface Sessions {
  readonly now: () => ConsumerSession;
  /** Starts another session and lets the one before end in its own time; false when Redis does not let it. */
  readonly renew: () => Promise<boolean>;
  readonly close: () => Promise<unknown>;
  readonly disconnect: () => void;
}

function startSessions(clients: ConsumerClients, open: OpenClients, shared: SessionParts): Sessions {
  let now = startSession(clients, shared);
  let isClosing = false;
  const all = new Map<ConsumerSession, Promise<void> | undefined>([[now, undefined]]);
  const end = (session: ConsumerSession): Promise<void> => {
    const ended = all.get(session) ?? session.close().finally(() => all.delete(session));
    all.set(session, ended);
    return ended;
  };
  return {
    now: () => now,
    renew: async () => {
      const opened = await open().catch((error: unknown) => {
        shared.parts.log('warn', 'the consumer could not reconnect', {
          reason: toRuntimeError(error).message,
        });
      });
      if (opened === undefined) return false;
      if (isClosing) {
        opened.end();
        return false;
      }
      const before = now;
      now = startSession(opened, shared);
      all.set(now, undefined);
      void end(before);
      return true;
    },
    close: () => {
      isClosing = true;
      return Promise.all([...all.keys()].map(end));
    },
    disconnect: () => {
      for (const session of [now, ...all.keys()]) session.clients.end();
    },
  };
}

/** Waits two seconds at most: a command waits for as long as Redis is away. */
async function withinTime<T>(answer: Promise<T>): Promise<T> {
  const tooLong = new AbortController();
  answer.catch(() => undefined);
  try {
    return await Promise.race([
      answer,
      sleep(ANSWER_MS, tooLong.signal).then(() => Promise.reject(new Error('Redis does not answer'))),
    ]);
  } finally {
    tooLong.abort();
  }
}

function toHealth(
  counts: QueueCounts | undefined,
  own: { readonly stalled: boolean; readonly running: number },
): ConsumerHealth {
  const unknown = { paused: false, pending: -1, waiting: -1, active: -1, delayed: -1, dead: -1 };
  return {
    ok: counts !== undefined && !own.stalled,
    redis: counts === undefined ? 'lost' : 'ready',
    ...(counts ?? unknown),
    ...own,
  };
}

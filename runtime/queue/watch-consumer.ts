import { every } from '../util/clock';
import type { ConsumerSession } from './consumer-session';
import type { Takeable } from './queue-counts';

interface WatchParts {
  readonly session: () => ConsumerSession;
  readonly concurrency: number;
  /** What may be taken. Rejects while Redis does not answer. */
  readonly readTakeable: () => Promise<Takeable>;
  /** Called at every look for as long as the consumer stalls. */
  readonly onStalled: (stall: Stall) => Promise<void>;
}

export interface Stall {
  readonly reason: string;
  readonly isNew: boolean;
  /** It has lasted long enough to reconnect. */
  readonly isOverdue: boolean;
}

export interface ConsumerWatch {
  readonly isStalled: () => boolean;
  /** There are new connections. It still counts as stalled until it has taken something, or nothing waits. */
  readonly onRenewed: () => void;
  readonly stop: () => void;
}

const LOOK_MS = 1000;
/** A worker that is well fetches what waits after BullMQ's drain delay of five seconds at the latest, and so does the ingress. */
const STALLED_LOOKS = 7;
/** The drain delay, and five seconds: what the first look saw may have come in that moment. */
const OVERDUE_LOOKS = 11;

/**
 * Looks whether a consumer takes the tasks that wait. However its connections got stuck, in BullMQ, in ioredis or here, this is where
 * it shows, so nothing needs to be known of the ways they can.
 *
 * The way that BullMQ 6.7.0 has: when Redis goes away while BullMQ itself connects a client that was made with `lazyConnect`, the
 * promise of that connection stays rejected (`RedisConnection.initializing`). `Worker.waitForJob` then fails ten times a second without
 * an event, since `reconnectBlocking` fails by the same promise. `openWaitingClient` keeps clear of it. It is mended there when
 * `test/integration/queue/queue-reconnect.test.ts` passes with `lazyConnect: true` in `openWaitingClient`.
 */
export function watchConsumer({ session, concurrency, readTakeable, onStalled }: WatchParts): ConsumerWatch {
  let looks = 0;
  /** The look after which there were new connections. */
  let renewedAt = 0;
  let before = { fetched: 0, asked: 0 };
  const isStuck = ({ paused, queued, listed }: Takeable): boolean => {
    const { fetched, asked, running } = session();
    const now = { fetched: fetched(), asked: asked() };
    const isFetching = now.fetched !== before.fetched || running() >= concurrency;
    const isAsking = now.asked !== before.asked;
    before = now;
    return !paused && ((queued > 0 && !isFetching) || (listed > 0 && !isAsking));
  };
  const lookAtTasks = async (): Promise<void> => {
    const takeable = await readTakeable().catch(() => undefined);
    // Looks are counted, not time: a process that was stopped for a minute has not stalled for one.
    looks = takeable !== undefined && isStuck(takeable) ? looks + 1 : 0;
    if (looks === 0) renewedAt = 0;
    if (takeable === undefined || looks < STALLED_LOOKS) return;
    const reason = `${takeable.queued + takeable.listed} wait`;
    await onStalled({ reason, isNew: looks === STALLED_LOOKS, isOverdue: looks - renewedAt >= OVERDUE_LOOKS });
  };
  const look = (): Promise<void> => {
    const { commands, blocking } = session().clients;
    if (commands.status !== 'end' && blocking.status !== 'end') return lookAtTasks();
    // ioredis never connects such a client again.
    const isNew = looks < OVERDUE_LOOKS;
    looks = OVERDUE_LOOKS;
    return onStalled({ reason: 'a connection to Redis has ended', isNew, isOverdue: true });
  };
  let isLooking = false;
  const stop = every(LOOK_MS, () => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => (isLooking = false));
  });
  return {
    isStalled: () => looks >= STALLED_LOOKS,
    onRenewed: () => {
      renewedAt = looks;
      before = { fetched: 0, asked: 0 };
    },
    stop,
  };
}

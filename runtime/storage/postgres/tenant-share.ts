import { RuntimeError } from '../../errors/runtime-error';
import { after } from '../../util/clock';
import { isInVain } from './database-errors';

/** Runs a statement of a tenant when it is its turn; one of nobody's at once. */
export type TenantShare = <T>(tenantId: string | undefined, work: () => Promise<T>) => Promise<T>;

interface Lane {
  running: number;
  /** The last statement that ended had timed out. */
  isStuck: boolean;
  readonly waiting: Set<Waiting>;
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: () => void;
}

/**
 * A tenant has half of the connections at most, so that a row of its own that somebody holds is not everybody's standstill.
 * While that lasts, one statement at a time finds out whether it is over, and the others fail at once: whoever asks comes again.
 */
export function createTenantShare(options: {
  readonly maxConnections: number;
  readonly maxWaitMs: number;
}): TenantShare {
  const most = Math.ceil(options.maxConnections / 2);
  const lanes = new Map<string, Lane>();
  const end = (tenantId: string, lane: Lane): void => {
    lane.running--;
    const [next] = lane.waiting;
    if (next !== undefined && lane.running < most) next.begin();
    if (lane.running === 0 && !lane.isStuck) lanes.delete(tenantId);
  };
  return async (tenantId, work) => {
    if (tenantId === undefined) return work();
    const lane = lanes.get(tenantId) ?? { running: 0, isStuck: false, waiting: new Set<Waiting>() };
    lanes.set(tenantId, lane);
    if (lane.isStuck && lane.running > 0) throw notNow('another statement of the tenant waits for a lock');
    if (lane.running < most) lane.running++;
    else await inTurn(lane, options.maxWaitMs);
    try {
      const result = await work();
      lane.isStuck = false;
      return result;
    } catch (error) {
      lane.isStuck = isInVain(error);
      if (lane.isStuck) for (const { refuse } of [...lane.waiting]) refuse();
      throw error;
    } finally {
      end(tenantId, lane);
    }
  };
}

function inTurn(lane: Lane, maxWaitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      stopWaiting();
      lane.waiting.delete(waiting);
    };
    const waiting: Waiting = {
      begin: () => {
        leave();
        lane.running++;
        resolve();
      },
      refuse: () => {
        leave();
        reject(notNow('the statements of the tenant before it have not ended'));
      },
    };
    const stopWaiting = after(maxWaitMs, waiting.refuse);
    lane.waiting.add(waiting);
  });
}

function notNow(reason: string): RuntimeError {
  return new RuntimeError('DB_UNAVAILABLE', { reason });
}

import type { Log } from './event';
import type { DeadTask, QueueDelivery, QueueTask } from './queue';

export interface ConsumerConfig {
  readonly redis: {
    /** `redis://user:password@host:port/database`, or `rediss:` for TLS. */
    readonly url: string;
    /** False: a certificate that nobody signed is taken. Default true. */
    readonly rejectUnauthorized?: boolean;
  };
  /** The Redis list that producers push to. Default `elo:tasks:pending`. */
  readonly list?: string;
  /** Where tasks go that will not be tried again. Default `elo:tasks:failed`. */
  readonly failedList?: string;
  /** Where tasks of other types go, byte for byte. Without one they are handled like the others. */
  readonly forwardList?: string;
  /** Which types are handled here. Default the five of `TASK_TYPES`. */
  readonly taskTypes?: readonly string[];
  /** Tasks at a time in this process. Default 10. */
  readonly concurrency?: number;
  /** Tasks of one tenant at a time, over all consumers of the list. Default: no limit. */
  readonly tenantConcurrency?: number;
  /** Tries of a task. Default 8. */
  readonly attempts?: number;
  /**
   * A consumer that has been silent for about so long counts as lost, and its tasks are done by others.
   * Default 60 000.
   */
  readonly leaseMs?: number;
  /** Larger tasks are refused. Default 1 MiB. */
  readonly maxTaskBytes?: number;
  /** Memory, CPU and event loop of this process among the metrics. Default false. */
  readonly processMetrics?: boolean;
}

export interface ConsumerParts {
  /** Does a task, as HandleTask; tokens and cost of the TaskReport that it resolves with are counted in the metrics. */
  readonly handle: (delivery: QueueDelivery) => Promise<unknown>;
  /**
   * Told of a task that will not be tried again, before it goes to the dead-letter list; perhaps twice, after a crash.
   */
  readonly onDead: (dead: DeadTask) => Promise<void>;
  readonly log: Log;
}

export interface ConsumerHealth {
  /** True when Redis answers and the consumer does not stall. */
  readonly ok: boolean;
  readonly redis: 'ready' | 'lost';
  /** Tasks are waiting that this consumer has room for, but it takes none. It then reconnects. */
  readonly stalled: boolean;
  readonly paused: boolean;
  /** Tasks on the list, or just taken off it. */
  readonly pending: number;
  /** Taken and waiting for a consumer. */
  readonly waiting: number;
  readonly active: number;
  /** Waiting for a time: for the next try, or for a tenant's turn. */
  readonly delayed: number;
  /** Entries on the dead-letter list. */
  readonly dead: number;
  /** Tasks that this process is doing now. */
  readonly running: number;
}

export interface Consumer {
  /**
   * Takes no more tasks, waits for those under way up to `graceMs`, then aborts their signals and gives them back.
   * May be called twice. Never rejects.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
  /** Never rejects: what cannot be asked is -1. */
  readonly health: () => Promise<ConsumerHealth>;
  /** The text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  /** Resolves when list and queue are empty: nothing waits, runs, is delayed or on its way to the dead-letter list. */
  readonly idle: () => Promise<void>;
}

/**
 * One task taken by hand, for a test in an editor. When the process ends before `done` or `putBack`, it goes back by
 * itself.
 */
export interface TakenTask {
  readonly task: QueueTask;
  /** It is dealt with: it leaves the list for good. */
  readonly done: () => Promise<void>;
  /** It goes back, to be the next one taken. */
  readonly putBack: () => Promise<void>;
}

/** ConsumerConfig with its defaults. */
export type ConsumerSettings = Required<Omit<ConsumerConfig, 'redis' | 'forwardList' | 'tenantConcurrency'>> &
  Pick<ConsumerConfig, 'forwardList' | 'tenantConcurrency'>;

import type { ConnectionOptions } from 'bullmq';
import type { LimitFunction } from 'p-limit';

import type { ConsumerParts, ConsumerSettings } from '../contracts/consumer';
import type { OutboxBacklog } from '../contracts/ledger/outbox';
import type { QueueKeys } from './keys';
import type { QueueMetrics } from './metrics';
import type { RedisClient } from './redis-script';

/** A client of ioredis, as BullMQ and our scripts use it. */
export type QueueClient = RedisClient & ConnectionOptions & { readonly disconnect: () => void };

/** Three connections that wait as long as Redis is away, so that nothing is given up because of it. */
export interface ConsumerClients {
  /** BullMQ's worker makes the third one after its pattern. */
  readonly commands: QueueClient;
  /** A connection that only waits for the next task. */
  readonly blocking: QueueClient;
  /** What the ledger has not taken yet. */
  readonly readBacklog: () => Promise<OutboxBacklog>;
  /** Disconnects both. */
  readonly end: () => void;
}

/** What the sessions of a consumer share. */
export interface SessionParts {
  readonly keys: QueueKeys;
  readonly settings: ConsumerSettings;
  readonly parts: ConsumerParts;
  readonly metrics: QueueMetrics;
  /** Lets as many tasks run at a time as the consumer may, whichever session has fetched them. */
  readonly limit: LimitFunction;
  /** Aborted when tasks under way are to go back. */
  readonly signal: AbortSignal;
}

import type { TraceEntry } from '../result';
import type { RunProgress } from './ledger';

/** Keeps the ends of runs that the ledger could not take, and writes them when it can. */
export interface Outbox {
  /** Rejects when it could not be kept either. */
  readonly keep: (progress: RunProgress) => Promise<void>;
}

/** An end that is kept, as it is shown to a person. */
export interface KeptEnd {
  readonly id: string;
  /** Undefined, like all that follows, for one that cannot be read. */
  readonly tenant_id?: string;
  readonly task_id?: string;
  readonly run_id?: string;
  /** What is not on the bill. */
  readonly calls?: readonly UnbilledCall[];
}

/** An end that the ledger refuses. */
export interface RefusedEnd extends KeptEnd {
  readonly since: string;
  readonly code: string;
  readonly sql_state?: string;
}

/** An end that waits to be written. */
export interface WaitingEnd {
  readonly id: string;
  /** Undefined, like all that follows, for one that an older version kept. */
  readonly tenant_id?: string;
  readonly since?: string;
  readonly age_seconds?: number;
}

/** How much waits to be written, and how long the oldest of it has. */
export interface OutboxBacklog {
  readonly waiting: number;
  readonly refused: number;
  readonly oldestSeconds: number;
}

type UnbilledCall = Pick<
  Extract<TraceEntry, { readonly kind: 'model' }>,
  'model' | 'prompt_tokens' | 'completion_tokens' | 'cost_usd'
>;

/** What the ledger has not taken yet, of all installations that share the Redis. */
export interface UnwrittenEnds {
  readonly waiting: number;
  readonly refused: number;
  /** Those of the waiting that have waited longest. */
  readonly longest: readonly WaitingEnd[];
  /** The oldest of those that are refused. */
  readonly entries: readonly RefusedEnd[];
  /** Those of the waiting that bear no installation's name, the oldest first; what is none's waits until a person drops it. */
  readonly unclaimed: readonly KeptEnd[];
}

import type { RunProgress } from './ledger';

/** Keeps the ends of runs that the ledger could not take, and writes them when it can. */
export interface Outbox {
  /** Rejects when it could not be kept either. */
  readonly keep: (progress: RunProgress) => Promise<void>;
}

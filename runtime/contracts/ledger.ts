import type { AgentResult } from './result';
import type { ModelCallRecord } from './usage';

/** A task is one line in the ledger; a run is one attempt at it. */
export interface RunKey {
  readonly tenantId: string;
  readonly taskId: string;
  readonly runId: string;
}

export interface ClaimRequest extends RunKey {
  readonly traceId?: string;
  /** Digest of the request: the same id with another request is a conflict. */
  readonly digest: string;
  /** Run even if the task was done before, as a new attempt: a manual test in the editor. */
  readonly fresh: boolean;
  readonly leaseMs: number;
  /** The model that call 1, opened with the claim, will ask. */
  readonly modelRequested: string;
}

export type Claim =
  | { readonly kind: 'claimed'; readonly attempt: number }
  | { readonly kind: 'done'; readonly result: AgentResult }
  | { readonly kind: 'running' }
  | { readonly kind: 'conflict' };

/** What the line in elo_t_token_usage carries beside the figures. */
export interface BillingLine {
  readonly traceId?: string;
  readonly tier: string;
  readonly taskType: string;
  /** Named on the line as long as no call has ended. */
  readonly modelRequested: string;
}

export interface RunProgress extends RunKey {
  /** Calls that ended; each is added to the ledger exactly once, however often it is written. */
  readonly closed: readonly ModelCallRecord[];
  /** The call that is about to be sent. */
  readonly opening?: { readonly callNo: number; readonly modelRequested: string };
  readonly leaseMs: number;
  /** Undefined: this run writes no line in elo_t_token_usage. */
  readonly bill?: BillingLine;
  /** Ends the run: `done` results are replayed, `failed` ones may be tried again. */
  readonly end?: { readonly state: 'done' | 'failed'; readonly result: AgentResult; readonly lastSentCallNo: number };
}

/** Who may run a task, and what it has cost. Rejects with a DB_ code. */
export interface LedgerStore {
  readonly claim: (request: ClaimRequest) => Promise<Claim>;
  /** `held` is false when another attempt took the task over. */
  readonly record: (progress: RunProgress) => Promise<{ readonly held: boolean }>;
}

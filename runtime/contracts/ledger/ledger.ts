import type { AgentResult } from '../result';
import type { CallPolicy } from '../tools/permission';
import type { ToolCallRecord } from '../tools/tool-call';
import type { ApprovalDecision, JournalEntry, Spent } from './journal';
import type { SavedRun } from './progress';
import type { NewTurn, SessionStore } from './session';
import type { ModelCallPlace, ModelCallRecord, StepPurpose } from './usage';

/** A task is one line in the ledger; a run is one attempt at it. */
export interface RunKey {
  readonly tenantId: string;
  readonly taskId: string;
  readonly runId: string;
}

/** Who a task or a call is for, as its meta says it. */
export interface Identity {
  readonly clientId?: string;
  readonly dialogId?: string;
  readonly userId?: string;
  readonly sessionId?: string;
}

/**
 * Where a run stands that works for another one. It has a task of its own; its model calls are on the bill of the root, and it may
 * use what the runs above it have reserved.
 */
export interface Family {
  readonly rootTaskId: string;
  /** The runs above it, that of the root first, its parent's last. */
  readonly above: readonly string[];
  /** The tool call of the parent that it answers. */
  readonly parentCallId: string;
}

export interface ClaimRequest extends RunKey, Identity {
  readonly traceId?: string;
  /** Digest of the request: the same id with another request is a conflict. */
  readonly digest: string;
  /** Run even if the task was done before, as a new attempt: a manual test in the editor. */
  readonly fresh: boolean;
  readonly leaseMs: number;
  /** The model that the first call, opened with the claim, will ask. Undefined: no call is opened. */
  readonly modelRequested?: string;
  /** Purpose of that call. Default: `step`. */
  readonly purpose?: StepPurpose;
  /** The name of the agent that the task names. */
  readonly agent?: string;
  /** Undefined for the run of a task that came from outside. */
  readonly family?: Family;
  /** Room for the first model call; undefined for a tenant without limits. */
  readonly reserve?: Reservation;
  /** How many runs of the tenant may begin a minute; undefined: any number. */
  readonly runsPerMinute?: number;
}

/** The tenant's limits of a month, and what one model call may take of them at most. */
export interface Reservation {
  /** US dollars, as decimal text. */
  readonly costLimitUsd?: string;
  /** Tokens of a month, as decimal text. */
  readonly tokenLimit?: string;
  readonly holdCostUsd: string;
  readonly holdTokens: number;
}

/**
 * Goes on with a run that waits for an approval, or whose approval came before and was not gone on with to the end. No
 * model call is opened: the tools of its step come first.
 */
export interface ResumeRequest {
  readonly tenantId: string;
  /** The run that waited. */
  readonly waitedRunId: string;
  /** The run that goes on. */
  readonly runId: string;
  /** The first one stands. */
  readonly decision: ApprovalDecision;
  /** Undefined where the approval names nobody. */
  readonly decidedBy?: string;
  readonly leaseMs: number;
  readonly reserve?: Reservation;
  readonly family?: Family;
}

/** A decision that was made before, and is another one. */
export interface Contradicted {
  readonly kind: 'contradicted';
  readonly decision: ApprovalDecision;
  readonly decidedBy?: string;
  readonly decidedAt: Date;
}

export type Resumed =
  | (OnRecord & {
      readonly kind: 'claimed';
      readonly taskId: string;
      readonly traceId?: string;
      readonly saved: SavedRun;
      /** Who decided first. */
      readonly decidedBy?: string;
    })
  | Extract<Claim, { kind: 'done' | 'running' | 'wait' | 'exceeded' }>
  | Contradicted
  /** No such run waits. */
  | { readonly kind: 'unknown' };

/** What is on record of the runs of the task before this one. */
export interface OnRecord {
  /**
   * Entries in the order of the steps: the first call has the number after theirs. Empty or undefined: from the
   * beginning, or from what was kept of a run that waited.
   */
  readonly journal?: readonly JournalEntry[];
  /** What was spent, with calls that left no entry in the journal. */
  readonly spent?: Spent;
}

export type Claim =
  | (OnRecord & { readonly kind: 'claimed'; readonly attempt: number })
  | { readonly kind: 'done'; readonly result: AgentResult }
  | { readonly kind: 'running' }
  /** Runs under way hold what is left of the month; when they end there may be room. */
  | { readonly kind: 'wait' }
  /** The month's limit is reached. */
  | { readonly kind: 'exceeded' }
  /** The runs of this minute are used up. */
  | { readonly kind: 'limited'; readonly seconds: number }
  | { readonly kind: 'conflict' };

/** What the line in elo_t_token_usage carries beside the figures. */
export interface BillingLine {
  readonly traceId?: string;
  readonly tier: string;
  readonly taskType: string;
  /** Named on the line as long as no call has ended. Undefined: there is no line before one has. */
  readonly modelRequested?: string;
  /** Set for a free tier: calls that cost nothing get no line. */
  readonly onlyWhatCosts?: boolean;
}

/** Model call whose usage is unknown, or still to come. */
export interface OpenCall extends ModelCallPlace {
  readonly modelRequested: string;
  /** Requests of it that were lost, when it has ended. */
  readonly unansweredRequests?: number;
  readonly errorCode?: string;
}

/** Whom the run is for stands in the lines of the bill and of the audit. */
export interface RunProgress extends RunKey, Identity {
  /** Calls that ended; each is added to the ledger exactly once, however often it is written. */
  readonly closed: readonly ModelCallRecord[];
  /** The call that is about to be sent; at the end of a run, the one that ended without word of its usage. */
  readonly opening?: OpenCall;
  readonly leaseMs: number;
  readonly family?: Family;
  /** Undefined: this run writes no line in elo_t_token_usage. */
  readonly bill?: BillingLine;
  /** Room for the call that is about to be sent, together with what else the run holds. */
  readonly reserve?: Reservation;
  /** Room that the run holds where there is no more, or nothing is reserved. Default: nothing, and as before. */
  readonly hold?: Spent;
  /** Tool calls that are about to be made, to be taken off their limits. */
  readonly taking?: readonly CallToTake[];
  /** Lines of the audit, redacted and without what the tools gave; each is kept once, however often it is written. */
  readonly audit?: readonly ToolCallRecord[];
  /**
   * Replaces entries of the same step and tool call. Only the run that holds the task may write them; they are
   * forgotten when it is done. A store that keeps none starts each attempt from scratch.
   */
  readonly journal?: readonly JournalEntry[];
  /** Ends the run: `done` results are replayed, `failed` ones may be tried again, `waiting` ones are gone on with. */
  readonly end?: RunEnd;
}

export interface RunEnd {
  readonly state: 'done' | 'failed' | 'waiting';
  readonly result: AgentResult;
  readonly lastStep: number;
  /** Numbers of calls that were opened and never made. */
  readonly unsent?: readonly number[];
  readonly saved?: SavedRun;
  /** Added to its session, with the end. */
  readonly turn?: NewTurn;
}

/** Number of calls that a task may make under a name: that of a tool, or `*` for all of them. */
export interface TaskLimit {
  readonly name: string;
  readonly calls: number;
}

/** One tool call, and the limits that it counts for. */
export interface CallToTake extends Pick<CallPolicy, 'code' | 'callsPerMinute' | 'callsPerDay' | 'ofAgent'> {
  readonly toolCallId: string;
  /** What its limits are counted under. */
  readonly tool: string;
}

export interface Recorded {
  /** False when another attempt took the task over. */
  readonly isOurs: boolean;
  /** Whether there is room for the next call: `wait` while other runs hold it; undefined where there are no limits. */
  readonly budget?: 'ok' | 'wait' | 'exceeded';
  /** The calls that must not be made, and why. */
  readonly refused?: readonly { readonly toolCallId: string; readonly reason: string }[];
  /** The tenant's policy at this moment; undefined where nobody can tell. */
  readonly policyVersion?: string;
}

/** Who may run a task, and what it has cost. Rejects with a DB_ code. */
export interface LedgerStore {
  readonly claim: (request: ClaimRequest) => Promise<Claim>;
  /**
   * What is kept of a run that waits for an approval, or whose approval may come again; undefined when none of this id
   * does. A run that works for another one goes on with that one: it is found under its root alone.
   */
  readonly findSaved: (
    run: Pick<RunKey, 'tenantId' | 'runId'> & Partial<Pick<Family, 'rootTaskId'>>,
  ) => Promise<SavedRun | undefined>;
  readonly resume: (request: ResumeRequest) => Promise<Resumed>;
  /** Rejects with TENANT_NOT_FOUND if the tenant was deleted since, with its runs and its bill. */
  readonly record: (progress: RunProgress) => Promise<Recorded>;
  /**
   * Keeps what must not be lost of a write that `record` refused: the end of the run, and the closed calls, which count
   * towards the month's limits until `record` takes them. Nothing counts twice in a month, however often either is written.
   */
  readonly recordUnbilled: (progress: RunProgress) => Promise<void>;
  /** Returns true for a run that was claimed here. Rejects with TENANT_NOT_FOUND if its tenant does not exist. */
  readonly knows: (run: RunKey) => Promise<boolean>;
  /** A text that tells this ledger from others, the same in every process. */
  readonly identify: () => Promise<string>;
  /**
   * Takes a call off a limit of a task that need not be on record; false when it is reached. Undefined: it cannot count them, and
   * such limits let no call pass.
   */
  readonly takeOfTask?: (call: { readonly tenantId: string; readonly taskId: string } & TaskLimit) => Promise<boolean>;
  /** Undefined: it keeps no conversations. */
  readonly sessions?: SessionStore;
}

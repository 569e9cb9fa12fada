import type { AgentResult } from '../../contracts/result';
import type { ChildRunEntry, ModelCallEntry, RunEntry, WaitingEntry } from '../../storage/sql/admin/list-runs';
import type { JsonObject } from '../../util/json';
import type { AdminHost } from './host';

/** A run, its result, and what it did. */
export interface RunDetails extends RunEntry {
  /** Null while it runs; results are kept for 30 days. */
  readonly result: AgentResult | null;
  readonly model_calls: readonly ModelCallEntry[];
  /** Lines of the audit. */
  readonly tool_calls: readonly JsonObject[];
  /** Runs that have worked for it, also for an earlier run of its task, at any depth, at most 1,000. Empty for such a run itself. */
  readonly children: readonly ChildRunEntry[];
}

/** The runs of a tenant. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, RUN_NOT_FOUND or a DB_ code. */
export interface RunAdmin {
  /** The newest first. */
  readonly list: (query: {
    readonly tenantId: string;
    readonly state?: 'running' | 'waiting' | 'done' | 'failed';
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<{ readonly runs: readonly RunEntry[]; readonly next: string | null }>;
  /** One run, by its id or by the id of its task. */
  readonly get: (query: { readonly tenantId: string; readonly id: string }) => Promise<RunDetails>;
}

/** Tool calls that wait for a person. Every method rejects with ADMIN_INPUT_INVALID or a DB_ code. */
export interface ApprovalAdmin {
  /** The longest waiting first; of one tenant, or of all. */
  readonly list: (query?: {
    readonly tenantId?: string;
    readonly limit?: number;
  }) => Promise<{ readonly approvals: readonly WaitingEntry[] }>;
  /** Goes on with the run, and gives its result; needs a model. Rejects as a run does, with APPROVAL_UNKNOWN where nothing waits. */
  readonly decide: (
    decision: {
      readonly tenantId: string;
      readonly runId: string;
      readonly decision: 'approve' | 'deny';
      /** Who decides; stands in the audit. */
      readonly userId?: string;
    },
    host?: AdminHost,
  ) => Promise<AgentResult>;
}

/** The record of tool calls. */
export interface AuditAdmin {
  /** The newest first, at most 1,000 of a tenant, with what was decided on each. Rejects with TENANT_NOT_FOUND. */
  readonly list: (query: {
    readonly tenantId: string;
    /** Only the calls of this task. */
    readonly taskId?: string;
  }) => Promise<{ readonly calls: readonly JsonObject[] }>;
}

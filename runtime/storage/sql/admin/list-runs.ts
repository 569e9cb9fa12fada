import type { JsonValue } from '../../../util/json';
import { named } from '../named';

/** A run in the list: what it is, and what became of it. */
export interface RunEntry {
  readonly tenant_id: string;
  readonly task_id: string;
  readonly run_id: string;
  readonly trace_id: string | null;
  /** The agent that the task names. */
  readonly agent: string | null;
  /** `running`, `waiting`, `done` or `failed`. */
  readonly state: string;
  /** The status of the result; null while it runs. */
  readonly status: string | null;
  readonly agent_tier: string | null;
  readonly model_used: string | null;
  readonly cost_usd: string | null;
  readonly attempt: number;
  readonly user_id: string | null;
  /** The last decision of a person on a call of it: `approve` or `deny`, by whom and when. */
  readonly decision: string | null;
  readonly decided_by: string | null;
  readonly decided_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const ENTRY = `
run.tenant_id::text AS tenant_id, run.task_id, run.run_id::text AS run_id, run.trace_id, run.agent, run.state,
  run.result ->> 'status' AS status, run.result ->> 'agent_tier' AS agent_tier, run.result ->> 'model_used' AS model_used,
  run.result ->> 'cost_usd' AS cost_usd, run.attempt, run.user_id, run.decision, run.decided_by,
  run.decided_at, run.created_at, run.updated_at`;

/** The newest first, without runs that work for others. `afterTime` (seconds, as decimal text) and `afterTask` are those of the last one seen. */
export const listRuns = named<{
  readonly tenantId: string;
  readonly state?: string;
  readonly afterTime?: string;
  readonly afterTask?: string;
  readonly rows: number;
}>(`
SELECT ${ENTRY}, extract(epoch FROM run.created_at)::text AS created_epoch FROM elo_agent_runs AS run
WHERE run.tenant_id = :tenantId::uuid AND run.root_task_id IS NULL AND (:state::text IS NULL OR run.state = :state)
  AND (:afterTask::text IS NULL OR (run.created_at, run.task_id) < (to_timestamp(:afterTime::double precision), :afterTask))
ORDER BY run.created_at DESC, run.task_id DESC LIMIT :rows`);

/** Found by the id of the run or of its task. JSON comes as text: a result may hold what JSONB refuses. */
export const getRun = named<{ readonly tenantId: string; readonly id: string }>(`
SELECT ${ENTRY}, run.result::text AS result FROM elo_agent_runs AS run
WHERE run.tenant_id = :tenantId::uuid AND (run.task_id = :id OR run.run_id::text = lower(:id))`);

/** A run that works for a tool call of another one, with what it has itself used: that of runs below it is theirs. */
export interface ChildRunEntry extends Pick<RunEntry, 'task_id' | 'run_id' | 'agent' | 'state' | 'status' | 'attempt'> {
  readonly parent_run_id: string;
  /** The tool call of the parent. */
  readonly parent_call_id: string;
  readonly model_calls: number;
  readonly total_tokens: string;
  readonly cost_usd: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Runs that have worked for a task in any of its runs, at any depth, in the order in which they began. */
export const listChildRuns = named<{ readonly tenantId: string; readonly taskId: string }>(`
SELECT run.task_id, run.run_id::text AS run_id, run.parent_run_id::text AS parent_run_id, run.parent_call_id, run.agent, run.state,
  run.result ->> 'status' AS status, run.attempt, used.model_calls, used.total_tokens, used.cost_usd, run.created_at, run.updated_at
FROM elo_agent_runs AS run CROSS JOIN LATERAL (
  SELECT count(*)::int AS model_calls, coalesce(sum(prompt_tokens + completion_tokens), 0)::text AS total_tokens,
    coalesce(sum(cost_exact), 0)::text AS cost_usd
  FROM elo_agent_model_calls AS call WHERE call.tenant_id = run.tenant_id AND call.task_id = run.task_id
) AS used
WHERE run.tenant_id = :tenantId::uuid AND run.root_task_id = :taskId
ORDER BY run.created_at, run.task_id LIMIT 1000`);

interface CallPlace {
  readonly call_no: number;
  /** The step that it is, or was made in. */
  readonly step: number;
  /** What it was made for: `step`, or something beside the steps. */
  readonly purpose: string;
}

export interface ModelCallEntry extends CallPlace {
  readonly model_requested: string;
  readonly model_billed: string | null;
  readonly prompt_tokens: string | null;
  readonly completion_tokens: string | null;
  readonly cost_usd: string | null;
  readonly error_code: string | null;
  readonly opened_at: Date;
  readonly closed_at: Date | null;
}

export const listModelCalls = named<{ readonly tenantId: string; readonly taskId: string }>(`
SELECT call_no, coalesce(step, call_no) AS step, purpose, model_requested, model_billed, prompt_tokens::text AS prompt_tokens, completion_tokens::text AS completion_tokens,
  cost_exact::text AS cost_usd, error_code, opened_at, closed_at
FROM elo_agent_model_calls WHERE tenant_id = :tenantId::uuid AND task_id = :taskId
ORDER BY opened_at, call_no LIMIT 1000`);

/** A tool call that a person has to decide on. */
export interface WaitingEntry {
  readonly tenant_id: string;
  readonly tenant: string;
  readonly run_id: string;
  readonly task_id: string;
  readonly tool: string | null;
  readonly reason: string | null;
  readonly arguments: JsonValue;
  readonly user_id: string | null;
  readonly waiting_since: Date;
}

/** The longest waiting first; of one tenant, or of all. A run that works for another one waits with that one. */
export const listWaiting = named<{ readonly tenantId?: string; readonly rows: number }>(`
SELECT run.tenant_id::text AS tenant_id, tenant.name AS tenant, run.run_id::text AS run_id, run.task_id,
  run.result -> 'awaiting' ->> 'tool' AS tool, run.result -> 'awaiting' ->> 'reason' AS reason,
  run.result -> 'awaiting' -> 'arguments' AS arguments, run.user_id, run.updated_at AS waiting_since
FROM elo_agent_runs AS run JOIN elo_v_agent_tenants AS tenant ON tenant.id = run.tenant_id
WHERE run.state = 'waiting' AND run.root_task_id IS NULL AND (:tenantId::uuid IS NULL OR run.tenant_id = :tenantId::uuid)
ORDER BY run.updated_at LIMIT :rows`);

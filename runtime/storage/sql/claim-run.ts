import type { ClaimRequest, Reservation, RunKey } from '../../contracts/ledger';
import type { Statement } from '../statement';

/**
 * What the calls of a task have cost that ended, with those that left no entry in the journal, such as a reply that broke
 * off. No row for nothing. A call that ended in this very moment may not be among them.
 */
export function spentBefore(taskId: string, condition: string): string {
  return `
    SELECT json_build_object(
      'costUsd', coalesce(sum(call.cost_exact), 0)::text,
      'tokens', coalesce(sum(call.prompt_tokens), 0) + coalesce(sum(call.completion_tokens), 0)) AS spent
    FROM elo_agent_model_calls AS call
    WHERE call.tenant_id = $1::uuid AND call.task_id = ${taskId} AND call.closed_at IS NOT NULL AND ${condition}
    HAVING sum(call.cost_exact) > 0 OR sum(call.prompt_tokens) > 0 OR sum(call.completion_tokens) > 0`;
}

/**
 * Claims a task and opens its next model call, or says who has it, in one round trip.
 * No row at all means that another caller claimed it in this very moment: ask again.
 */
const TEXT = `
WITH budget AS MATERIALIZED (
  SELECT elo_agent_reserve($1::uuid, $3::uuid, $9::numeric, $10::numeric, 0, 0) AS room
), rate AS MATERIALIZED (
  SELECT 0 AS wait FROM budget WHERE $14::int IS NULL
  UNION ALL
  -- A replay, and a caller that waits for another, take nothing of the minute.
  SELECT elo_agent_take_run($1::uuid, $14::int) FROM budget
  WHERE $14::int IS NOT NULL AND budget.room = 'ok' AND ($7::boolean OR NOT EXISTS (
    SELECT FROM elo_agent_runs AS run
    WHERE run.tenant_id = $1::uuid AND run.task_id = $2
      AND (run.digest <> $5 OR run.state IN ('done', 'waiting') OR (run.state = 'running' AND run.lease_until >= now()))
  ))
), claimed AS (
  INSERT INTO elo_agent_runs AS run
    (tenant_id, task_id, run_id, trace_id, digest, state, attempt, lease_until, held_cost_usd, held_tokens,
      client_id, dialog_id, user_id, session_id)
  SELECT $1::uuid, $2, $3::uuid, $4, $5, 'running', 1, now() + $6::int * interval '1 millisecond', $11::numeric, $12::bigint,
    $15, $16, $13, $17
  FROM budget, rate WHERE budget.room = 'ok' AND rate.wait = 0
  ON CONFLICT (tenant_id, task_id) DO UPDATE SET
    run_id = EXCLUDED.run_id, trace_id = EXCLUDED.trace_id, digest = EXCLUDED.digest, state = 'running',
    attempt = run.attempt + 1, lease_until = EXCLUDED.lease_until, result = NULL,
    resume = CASE WHEN NOT $7::boolean THEN run.resume END,
    held_cost_usd = EXCLUDED.held_cost_usd, held_tokens = EXCLUDED.held_tokens, client_id = EXCLUDED.client_id,
    dialog_id = EXCLUDED.dialog_id, user_id = EXCLUDED.user_id, session_id = EXCLUDED.session_id, updated_at = now()
  WHERE $7::boolean OR (
    run.digest = EXCLUDED.digest
    AND (run.state = 'failed' OR (run.state = 'running' AND run.lease_until < now()))
  )
  RETURNING attempt
), going_on AS MATERIALIZED (
  SELECT claimed.attempt, journal.last_step, journal.entries, before.spent
  FROM claimed LEFT JOIN LATERAL
    elo_agent_read_journal($1::uuid, CASE WHEN claimed.attempt > 1 AND NOT $7::boolean THEN $2 END) AS journal ON true
  LEFT JOIN LATERAL (${spentBefore('$2', 'claimed.attempt > 1 AND NOT $7::boolean')}) AS before ON true
), opened AS (
  INSERT INTO elo_agent_model_calls (tenant_id, task_id, run_id, call_no, model_requested)
  SELECT $1::uuid, $2, $3::uuid, coalesce(last_step, 0) + 1, $8 FROM going_on
), forgotten AS (
  DELETE FROM elo_agent_journal
  WHERE $7::boolean AND tenant_id = $1::uuid AND task_id = $2 AND EXISTS (SELECT FROM claimed)
)
SELECT 'claimed' AS kind, attempt, NULL::text AS result, entries::text AS journal, spent::text AS spent, 0 AS wait FROM going_on
UNION ALL
SELECT
  CASE
    WHEN run.digest <> $5 AND NOT $7::boolean THEN 'conflict'
    WHEN run.state IN ('done', 'waiting') AND NOT $7::boolean THEN 'done'
    WHEN budget.room <> 'ok' AND ($7::boolean OR run.state = 'failed' OR run.lease_until < now()) THEN budget.room
    ELSE 'running'
  END,
  run.attempt,
  CASE WHEN run.digest = $5 AND run.state IN ('done', 'waiting') THEN run.result::text END,
  NULL, NULL, 0
FROM elo_agent_runs AS run, budget
WHERE run.tenant_id = $1::uuid AND run.task_id = $2 AND NOT EXISTS (SELECT FROM claimed)
  AND NOT EXISTS (SELECT FROM rate WHERE rate.wait > 0)
UNION ALL
SELECT 'limited', 0, NULL, NULL, NULL, rate.wait FROM rate WHERE rate.wait > 0
UNION ALL
SELECT budget.room, 0, NULL, NULL, NULL, 0 FROM budget
WHERE budget.room <> 'ok' AND NOT EXISTS (SELECT FROM elo_agent_runs AS run WHERE run.tenant_id = $1::uuid AND run.task_id = $2)`;

export interface ClaimRow {
  readonly kind: 'claimed' | 'conflict' | 'done' | 'running' | 'held' | 'exceeded' | 'limited';
  readonly attempt: number;
  readonly result: string | null;
  /** An array of JournalRow as JSON. */
  readonly journal: string | null;
  /** A Spent as JSON. */
  readonly spent: string | null;
  /** Seconds until the tenant may begin a run again. */
  readonly wait: number;
}

export function claimRunStatement(request: ClaimRequest): Statement {
  const { tenantId, taskId, runId, traceId, digest, leaseMs, fresh, modelRequested } = request;
  return {
    tenantId,
    text: TEXT,
    values: [
      ...[tenantId, taskId, runId, traceId ?? null, digest, leaseMs, fresh, modelRequested],
      ...reservationValues(request.reserve),
      request.userId ?? null,
      request.runsPerMinute ?? null,
      ...[request.clientId ?? null, request.dialogId ?? null, request.sessionId ?? null],
    ],
  };
}

/** Gives a run back that was claimed and cannot be gone on with: nothing was sent. */
export function releaseRunStatement({ tenantId, taskId, runId }: RunKey): Statement {
  return {
    tenantId,
    text: `
WITH released AS (
  UPDATE elo_agent_runs SET lease_until = now(), held_cost_usd = NULL, held_tokens = NULL
  WHERE tenant_id = $1::uuid AND task_id = $2 AND run_id = $3::uuid AND state = 'running'
  RETURNING run_id
)
DELETE FROM elo_agent_model_calls AS call USING released
WHERE call.tenant_id = $1::uuid AND call.task_id = $2 AND call.run_id = released.run_id AND call.closed_at IS NULL`,
    values: [tenantId, taskId, runId],
  };
}

/** Both limits, then both holds. */
export function reservationValues(reserve: Reservation | undefined): readonly unknown[] {
  if (reserve === undefined) return [null, null, null, null];
  return [reserve.costLimitUsd ?? null, reserve.tokenLimit ?? null, reserve.holdCostUsd, reserve.holdTokens];
}

import type { ResumeRequest } from '../../contracts/ledger';
import type { Statement } from '../postgres';
import { reservationValues } from './claim-run';

/**
 * Claims a run that waits for an approval, or says what became of it. The same approval may come again, after a lost
 * answer: it finds the run that went on with it, and its result. One that failed is not gone on with a second time,
 * since the approved call may have been made. No row means that no such run waits.
 */
const TEXT = `
WITH budget AS MATERIALIZED (
  SELECT elo_agent_reserve($1::uuid, $3::uuid, $5::numeric, $6::numeric, 0, 0) AS room
), claimed AS (
  UPDATE elo_agent_runs AS run SET
    run_id = $3::uuid, resumed_run_id = $2::uuid, state = 'running', attempt = run.attempt + 1, result = NULL,
    lease_until = now() + $4::int * interval '1 millisecond',
    held_cost_usd = $7::numeric, held_tokens = $8::bigint, updated_at = now()
  FROM budget
  WHERE run.tenant_id = $1::uuid AND budget.room = 'ok' AND run.resume IS NOT NULL
    AND run.run_id = $2::uuid AND run.state = 'waiting'
  RETURNING run.task_id, run.trace_id, run.resume::text AS resume
)
SELECT 'claimed' AS kind, task_id, trace_id, resume, NULL::text AS result FROM claimed
UNION ALL
SELECT
  CASE
    WHEN run.run_id = $2::uuid AND budget.room <> 'ok' THEN budget.room
    -- With room it was there to be claimed, so another caller has done so in this very moment.
    WHEN run.run_id = $2::uuid OR run.state = 'running' THEN 'running'
    ELSE 'done'
  END,
  run.task_id, run.trace_id, NULL, run.result::text
FROM elo_agent_runs AS run, budget
WHERE run.tenant_id = $1::uuid AND NOT EXISTS (SELECT FROM claimed) AND (
  (run.run_id = $2::uuid AND run.state = 'waiting')
  OR (run.resumed_run_id = $2::uuid AND (run.state IN ('done', 'waiting') OR (run.state = 'running' AND run.lease_until > now())))
)`;

export interface ResumeRow {
  readonly kind: 'claimed' | 'done' | 'running' | 'held' | 'exceeded';
  readonly task_id: string;
  readonly trace_id: string | null;
  readonly resume: string | null;
  readonly result: string | null;
}

export function resumeRunStatement({ tenantId, waitedRunId, runId, leaseMs, reserve }: ResumeRequest): Statement {
  return { text: TEXT, values: [tenantId, waitedRunId, runId, leaseMs, ...reservationValues(reserve)] };
}

/** The request that a waiting run answers, and how far it is. */
export function findWaitingStatement(tenantId: string, runId: string): Statement {
  return {
    text: `SELECT resume::text AS resume FROM elo_agent_runs
      WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND state = 'waiting' AND resume IS NOT NULL`,
    values: [tenantId, runId],
  };
}

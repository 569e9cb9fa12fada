import type { ClaimRequest } from '../../contracts/ledger';
import type { Statement } from '../postgres';

/**
 * Claims a task and opens its first model call, or says who has it, in one round trip.
 * No row at all means that another caller claimed it in this very moment: ask again.
 */
const TEXT = `
WITH claimed AS (
  INSERT INTO elo_agent_runs AS run (tenant_id, task_id, run_id, trace_id, digest, state, attempt, lease_until)
  VALUES ($1::uuid, $2, $3::uuid, $4, $5, 'running', 1, now() + $6::int * interval '1 millisecond')
  ON CONFLICT (tenant_id, task_id) DO UPDATE SET
    run_id = EXCLUDED.run_id, trace_id = EXCLUDED.trace_id, digest = EXCLUDED.digest, state = 'running',
    attempt = run.attempt + 1, lease_until = EXCLUDED.lease_until, result = NULL, updated_at = now()
  WHERE $7::boolean OR (
    run.digest = EXCLUDED.digest
    AND (run.state = 'failed' OR (run.state = 'running' AND run.lease_until < now()))
  )
  RETURNING attempt
), opened AS (
  INSERT INTO elo_agent_model_calls (tenant_id, task_id, run_id, call_no, model_requested)
  SELECT $1::uuid, $2, $3::uuid, 1, $8 FROM claimed
)
SELECT 'claimed' AS kind, attempt, NULL::text AS result FROM claimed
UNION ALL
SELECT
  CASE WHEN run.digest <> $5 THEN 'conflict' WHEN run.state = 'done' THEN 'done' ELSE 'running' END,
  run.attempt,
  CASE WHEN run.digest = $5 AND run.state = 'done' THEN run.result::text END
FROM elo_agent_runs AS run
WHERE run.tenant_id = $1::uuid AND run.task_id = $2 AND NOT EXISTS (SELECT FROM claimed)`;

export interface ClaimRow {
  readonly kind: 'claimed' | 'conflict' | 'done' | 'running';
  readonly attempt: number;
  readonly result: string | null;
}

export function claimRunStatement(request: ClaimRequest): Statement {
  const { tenantId, taskId, runId, traceId, digest, leaseMs, fresh, modelRequested } = request;
  return { text: TEXT, values: [tenantId, taskId, runId, traceId ?? null, digest, leaseMs, fresh, modelRequested] };
}

import type { RunKey } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';

/** Whether the run was claimed in this database; of one that was taken over only its model calls tell. */
export function knowsRunStatement({ tenantId, taskId, runId }: RunKey): Statement {
  return {
    tenantId,
    text: `
SELECT EXISTS (
  SELECT FROM elo_agent_runs WHERE tenant_id = $1::uuid AND task_id = $2 AND run_id = $3::uuid
) OR EXISTS (
  SELECT FROM elo_agent_model_calls WHERE tenant_id = $1::uuid AND task_id = $2 AND run_id = $3::uuid
) AS is_known, EXISTS (SELECT FROM elo_v_agent_tenants WHERE id = $1::uuid) AS has_tenant`,
    values: [tenantId, taskId, runId],
  };
}

/** What tells this database from all others, whatever server it moves to: when its first migration was applied, to the microsecond. */
export function identifyStatement(): Statement {
  return {
    text: `SELECT md5(name || extract(epoch FROM applied_at)) AS id FROM elo_agent_migrations ORDER BY applied_at, name LIMIT 1`,
    values: [],
  };
}

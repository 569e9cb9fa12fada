import type { RunKey } from '../../../contracts/ledger/ledger';
import { statement } from '../../statement';
import { named } from '../named';

/** Whether the run was claimed in this database; of one that was taken over only its model calls tell. */
export const knowsRunStatement = named<RunKey>(`
SELECT EXISTS (
  SELECT FROM elo_agent_runs WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND run_id = :runId::uuid
) OR EXISTS (
  SELECT FROM elo_agent_model_calls WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND run_id = :runId::uuid
) AS is_known, EXISTS (SELECT FROM elo_v_agent_tenants WHERE id = :tenantId::uuid) AS has_tenant`);

/** What tells this database from all others, whatever server it moves to: when its first migration was applied, to the microsecond. */
export const IDENTIFY = statement(
  `SELECT md5(name || extract(epoch FROM applied_at)) AS id FROM elo_agent_migrations ORDER BY applied_at, name LIMIT 1`,
);

import type { TaskLimit } from '../../../contracts/ledger/ledger';
import { named } from '../named';

/** A month: as long as a task may wait for a person. */
const SECONDS = 2_592_000;

/** Counts a call towards a limit of its task; no row when it is reached. No tool has a space in its name. */
export const takeOfTaskStatement = named<{ readonly tenantId: string; readonly taskId: string } & TaskLimit>(`
INSERT INTO elo_agent_rate_windows AS used (tenant_id, scope, seconds, started_at, used)
SELECT :tenantId::uuid, :name || ' ' || :taskId, ${SECONDS}, clock_timestamp(), 1 WHERE :calls::int > 0
ON CONFLICT (tenant_id, scope, seconds) DO UPDATE SET used = used.used + 1 WHERE used.used < :calls::int
RETURNING used.used`);

import type { ClaimRequest, Family, Reservation, RunKey } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';
import { named } from '../named';
import { storable } from '../storable';
import text from './claim-run.sql';

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

const CLAIM = named<Omit<ClaimRequest, 'reserve' | 'family'> & Partial<Reservation> & FamilyValues>(text);

export function claimRunStatement({ reserve, family, ...request }: ClaimRequest): Statement {
  return CLAIM(storable({ ...request, ...reserve, ...familyValues(request.runId, family) }));
}

interface FamilyValues {
  /** The run, and those above it. */
  readonly runIds: readonly string[];
  readonly rootTaskId?: string;
  readonly parentRunId?: string;
  readonly parentCallId?: string;
}

export function familyValues(runId: string, family: Family | undefined): FamilyValues {
  if (family === undefined) return { runIds: [runId] };
  const { above, rootTaskId, parentCallId } = family;
  return { runIds: [...above, runId], rootTaskId, parentRunId: above.at(-1), parentCallId };
}

/** Gives a run back that was claimed and cannot be gone on with: nothing was sent. */
export const releaseRunStatement = named<RunKey>(`
WITH released AS (
  UPDATE elo_agent_runs SET lease_until = now(), held_cost_usd = NULL, held_tokens = NULL
  WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND run_id = :runId::uuid AND state = 'running'
  RETURNING run_id
)
DELETE FROM elo_agent_model_calls AS call USING released
WHERE call.tenant_id = :tenantId::uuid AND call.task_id = :taskId AND call.run_id = released.run_id AND call.closed_at IS NULL`);

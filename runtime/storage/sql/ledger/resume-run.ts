import type { LedgerStore, Reservation, ResumeRequest } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';
import { named } from '../named';
import { storable } from '../storable';
import { familyValues } from './claim-run';
import text from './resume-run.sql';

export interface ResumeRow {
  readonly kind: 'claimed' | 'done' | 'running' | 'held' | 'exceeded' | 'contradicted';
  readonly task_id: string;
  readonly trace_id: string | null;
  readonly resume: string | null;
  readonly result: string | null;
  /** An array of JournalRow as JSON. */
  readonly journal: string | null;
  /** A Spent as JSON. */
  readonly spent: string | null;
  /** What was decided, now or before, as JSON. */
  readonly decided: string | null;
}

const RESUME = named<Omit<ResumeRequest, 'reserve' | 'family'> & Partial<Reservation>>(text);

export function resumeRunStatement({ reserve, family, ...request }: ResumeRequest): Statement {
  return RESUME({ ...storable(request), ...reserve, ...familyValues(request.runId, family) });
}

/** The request that a waiting run answers, and how far it was; until the run that goes on with it is done. */
export function findSavedStatement({
  tenantId,
  runId,
  rootTaskId,
}: Parameters<LedgerStore['findSaved']>[0]): Statement {
  return {
    text: `SELECT resume::text AS resume FROM elo_agent_runs
      WHERE tenant_id = $1::uuid AND root_task_id IS NOT DISTINCT FROM $3 AND resume IS NOT NULL AND (
        (run_id = $2::uuid AND state = 'waiting') OR (resumed_run_id = $2::uuid AND state IN ('running', 'failed')))`,
    values: [tenantId, runId, rootTaskId ?? null],
  };
}

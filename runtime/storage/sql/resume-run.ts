import type { ResumeRequest } from '../../contracts/ledger';
import type { Statement } from '../statement';
import { reservationValues, spentBefore } from './claim-run';

const BROKEN_OFF = `(run.resumed_run_id = $2::uuid AND (
  run.state = 'failed' OR (run.state = 'running' AND run.lease_until < now())))`;
const CLAIMABLE = `(run.resume IS NOT NULL AND ((run.run_id = $2::uuid AND run.state = 'waiting') OR ${BROKEN_OFF}))`;

/**
 * Claims a run that waits for an approval, or says what became of it. The same approval may come again, after a lost
 * answer: it finds the run that went on with it, and its result. One that failed or was lost is gone on with by the journal,
 * which has every call that may have been made. No row means that no such run waits.
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
  WHERE run.tenant_id = $1::uuid AND budget.room = 'ok' AND ${CLAIMABLE}
  RETURNING run.task_id, run.trace_id, run.resume::text AS resume
), going_on AS MATERIALIZED (
  SELECT claimed.task_id, claimed.trace_id, claimed.resume, journal.entries, before.spent
  FROM claimed LEFT JOIN LATERAL elo_agent_read_journal($1::uuid, claimed.task_id) AS journal ON true
  LEFT JOIN LATERAL (${spentBefore('claimed.task_id', 'true')}) AS before ON true
)
SELECT 'claimed' AS kind, task_id, trace_id, resume, NULL::text AS result, entries::text AS journal, spent::text AS spent
FROM going_on
UNION ALL
SELECT
  CASE
    WHEN ${CLAIMABLE} AND budget.room <> 'ok' THEN budget.room
    -- With room it was there to be claimed, so another caller has done so in this very moment.
    WHEN ${CLAIMABLE} OR run.state = 'running' THEN 'running'
    ELSE 'done'
  END,
  run.task_id, run.trace_id, NULL, run.result::text, NULL, NULL
FROM elo_agent_runs AS run, budget
WHERE run.tenant_id = $1::uuid AND NOT EXISTS (SELECT FROM claimed) AND (
  ${CLAIMABLE}
  OR (run.resumed_run_id = $2::uuid AND (run.state IN ('done', 'waiting') OR (run.state = 'running' AND run.lease_until > now())))
)`;

export interface ResumeRow {
  readonly kind: 'claimed' | 'done' | 'running' | 'held' | 'exceeded';
  readonly task_id: string;
  readonly trace_id: string | null;
  readonly resume: string | null;
  readonly result: string | null;
  /** An array of JournalRow as JSON. */
  readonly journal: string | null;
  /** A Spent as JSON. */
  readonly spent: string | null;
}

export function resumeRunStatement({ tenantId, waitedRunId, runId, leaseMs, reserve }: ResumeRequest): Statement {
  return { tenantId, text: TEXT, values: [tenantId, waitedRunId, runId, leaseMs, ...reservationValues(reserve)] };
}

/** The request that a waiting run answers, and how far it was; until the run that goes on with it is done. */
export function findWaitingStatement(tenantId: string, runId: string): Statement {
  return {
    text: `SELECT resume::text AS resume FROM elo_agent_runs
      WHERE tenant_id = $1::uuid AND resume IS NOT NULL AND (
        (run_id = $2::uuid AND state = 'waiting') OR (resumed_run_id = $2::uuid AND state IN ('running', 'failed')))`,
    values: [tenantId, runId],
  };
}

-- Claims a run that waits for an approval, or says what became of it. The same approval may come again, after a lost answer:
-- it finds the run that went on with it, and its result. One that failed or was lost is gone on with by the journal, which
-- has every call that may have been made. A decision stands, so another one than the first is contradicted by it. No row means
-- that no such run waits; one that works for another run goes on with that one alone.
WITH budget AS MATERIALIZED (
  SELECT elo_agent_reserve(:tenantId::uuid, :runIds::uuid[],
    :costLimitUsd::numeric, :tokenLimit::numeric, 0, 0) AS room
), claimed AS (
  UPDATE elo_agent_runs AS run SET
    decision = :decision,
    decided_by = CASE WHEN run.decided_run_id = :waitedRunId::uuid THEN run.decided_by ELSE left(:decidedBy::text, 200) END,
    decided_at = CASE WHEN run.decided_run_id = :waitedRunId::uuid THEN run.decided_at ELSE now() END,
    decided_run_id = :waitedRunId::uuid,
    run_id = :runId::uuid, parent_run_id = :parentRunId::uuid, resumed_run_id = :waitedRunId::uuid, state = 'running', attempt = run.attempt + 1, result = NULL,
    lease_until = now() + :leaseMs::int * interval '1 millisecond',
    held_cost_usd = :holdCostUsd::numeric, held_tokens = :holdTokens::bigint,
    updated_at = now()
  FROM budget
  WHERE run.tenant_id = :tenantId::uuid AND run.root_task_id IS NOT DISTINCT FROM :rootTaskId::text
    AND budget.room = 'ok' AND run.resume IS NOT NULL AND (
    (run.run_id = :waitedRunId::uuid AND run.state = 'waiting')
    OR (run.resumed_run_id = :waitedRunId::uuid
      AND (run.decided_run_id IS DISTINCT FROM :waitedRunId::uuid OR run.decision = :decision) AND (
      run.state = 'failed' OR (run.state = 'running' AND run.lease_until < now())
    ))
  )
  RETURNING run.task_id, run.trace_id, run.resume::text AS resume,
    json_build_object('decidedBy', run.decided_by)::text AS decided
), going_on AS MATERIALIZED (
  SELECT claimed.task_id, claimed.trace_id, claimed.resume, claimed.decided, journal.entries, before.spent
  FROM claimed
  LEFT JOIN LATERAL elo_agent_read_journal(:tenantId::uuid, claimed.task_id) AS journal ON true
  -- As in claim-run.sql.
  LEFT JOIN LATERAL (
    SELECT json_build_object('costUsd', sum(used.cost)::text, 'tokens', sum(used.tokens)) AS spent
    FROM elo_agent_model_calls AS call CROSS JOIN LATERAL (
      SELECT coalesce(call.cost_exact, call.unbilled_cost_usd, 0) AS cost,
        coalesce(call.prompt_tokens + call.completion_tokens, call.unbilled_tokens, 0) AS tokens
    ) AS used
    WHERE call.tenant_id = :tenantId::uuid AND call.task_id = ANY (ARRAY(
      SELECT claimed.task_id UNION ALL
      SELECT below.task_id FROM elo_agent_runs AS below
      WHERE below.tenant_id = :tenantId::uuid AND below.root_task_id = claimed.task_id
    ))
    HAVING sum(used.cost) > 0 OR sum(used.tokens) > 0
  ) AS before ON true
)
SELECT 'claimed' AS kind, task_id, trace_id, resume, NULL::text AS result, entries::text AS journal, spent::text AS spent,
  decided
FROM going_on
UNION ALL
SELECT
  CASE
    WHEN run.is_contradicted THEN 'contradicted'
    WHEN run.is_claimable AND budget.room <> 'ok' THEN budget.room
    -- With room it was there to be claimed, so another caller has done so in this very moment.
    WHEN run.is_claimable OR run.state = 'running' THEN 'running'
    ELSE 'done'
  END,
  run.task_id, run.trace_id, NULL, run.result, NULL, NULL, run.decided
FROM budget, (
  SELECT known.task_id, known.trace_id, known.state, known.result::text AS result,
    json_build_object('decision', known.decision, 'decidedBy', known.decided_by, 'decidedAt', known.decided_at)::text AS decided,
    known.decided_run_id IS NOT DISTINCT FROM :waitedRunId::uuid AND known.decision <> :decision AS is_contradicted,
    known.resumed_run_id IS NOT DISTINCT FROM :waitedRunId::uuid AND (
      known.state IN ('done', 'waiting') OR (known.state = 'running' AND known.lease_until > now())
    ) AS is_answered,
    known.resume IS NOT NULL AND (
      (known.run_id = :waitedRunId::uuid AND known.state = 'waiting')
      OR (known.resumed_run_id IS NOT DISTINCT FROM :waitedRunId::uuid AND (
        known.state = 'failed' OR (known.state = 'running' AND known.lease_until < now())
      ))
    ) AS is_claimable
  FROM elo_agent_runs AS known
  WHERE known.tenant_id = :tenantId::uuid AND known.root_task_id IS NOT DISTINCT FROM :rootTaskId::text
    AND (known.run_id = :waitedRunId::uuid OR known.resumed_run_id = :waitedRunId::uuid)
) AS run
WHERE (run.is_claimable OR run.is_answered OR run.is_contradicted) AND NOT EXISTS (SELECT FROM claimed)

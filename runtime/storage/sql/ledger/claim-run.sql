-- Claims a task and opens its next model call, or says who has it, in one round trip. No row at all means that another caller
-- claimed it in this very moment: ask again.
WITH budget AS MATERIALIZED (
  SELECT elo_agent_reserve(:tenantId::uuid, :runIds::uuid[],
    :costLimitUsd::numeric, :tokenLimit::numeric, 0, 0) AS room
), rate AS MATERIALIZED (
  SELECT 0 AS wait WHERE :runsPerMinute::int IS NULL
  UNION ALL
  -- A replay, and a caller that waits for another, take nothing of the minute.
  SELECT elo_agent_take_run(:tenantId::uuid, :runsPerMinute::int) FROM budget
  WHERE :runsPerMinute::int IS NOT NULL AND budget.room = 'ok' AND (:fresh::boolean OR NOT EXISTS (
    SELECT FROM elo_agent_runs AS run
    WHERE run.tenant_id = :tenantId::uuid AND run.task_id = :taskId
      AND (
        run.digest <> :digest OR run.state IN ('done', 'waiting')
        OR (run.state = 'running' AND run.lease_until >= now())
      )
  ))
), claimed AS (
  INSERT INTO elo_agent_runs AS run
    (tenant_id, task_id, run_id, trace_id, digest, state, attempt, lease_until, held_cost_usd, held_tokens,
      client_id, dialog_id, user_id, session_id, agent, root_task_id, parent_run_id, parent_call_id)
  SELECT :tenantId::uuid, :taskId, :runId::uuid, :traceId, :digest, 'running', 1,
    now() + :leaseMs::int * interval '1 millisecond', :holdCostUsd::numeric,
    :holdTokens::bigint, :clientId, :dialogId, :userId, :sessionId, :agent, :rootTaskId, :parentRunId::uuid, :parentCallId
  FROM budget, rate WHERE budget.room = 'ok' AND rate.wait = 0
  ON CONFLICT (tenant_id, task_id) DO UPDATE SET
    run_id = EXCLUDED.run_id, trace_id = EXCLUDED.trace_id, digest = EXCLUDED.digest, state = 'running',
    attempt = run.attempt + 1, lease_until = EXCLUDED.lease_until, result = NULL,
    resume = CASE WHEN NOT :fresh::boolean THEN run.resume END,
    decision = CASE WHEN NOT :fresh::boolean THEN run.decision END,
    decided_by = CASE WHEN NOT :fresh::boolean THEN run.decided_by END,
    decided_at = CASE WHEN NOT :fresh::boolean THEN run.decided_at END,
    decided_run_id = CASE WHEN NOT :fresh::boolean THEN run.decided_run_id END,
    held_cost_usd = EXCLUDED.held_cost_usd, held_tokens = EXCLUDED.held_tokens, client_id = EXCLUDED.client_id,
    dialog_id = EXCLUDED.dialog_id, user_id = EXCLUDED.user_id, session_id = EXCLUDED.session_id, agent = EXCLUDED.agent,
    parent_run_id = EXCLUDED.parent_run_id, updated_at = now()
  WHERE run.root_task_id IS NOT DISTINCT FROM EXCLUDED.root_task_id AND (:fresh::boolean OR (
    run.digest = EXCLUDED.digest
    AND (run.state = 'failed' OR (run.state = 'running' AND run.lease_until < now()))
  ))
  RETURNING attempt
), going_on AS MATERIALIZED (
  SELECT claimed.attempt, journal.last_step, journal.entries, before.spent
  FROM claimed
  LEFT JOIN LATERAL
    elo_agent_read_journal(:tenantId::uuid, CASE WHEN claimed.attempt > 1 AND NOT :fresh::boolean THEN :taskId END) AS journal ON true
  -- With the calls that left no entry in the journal, such as a reply that broke off; a call that ended in this very moment
  -- may not be among them, and with those of the runs below it. Returns no row when nothing was spent.
  LEFT JOIN LATERAL (
    SELECT json_build_object('costUsd', sum(used.cost)::text, 'tokens', sum(used.tokens)) AS spent
    FROM elo_agent_model_calls AS call CROSS JOIN LATERAL (
      SELECT coalesce(call.cost_exact, call.unbilled_cost_usd, 0) AS cost,
        coalesce(call.prompt_tokens + call.completion_tokens, call.unbilled_tokens, 0) AS tokens
    ) AS used
    WHERE call.tenant_id = :tenantId::uuid AND call.task_id = ANY (ARRAY(
        SELECT :taskId UNION ALL
        SELECT below.task_id FROM elo_agent_runs AS below
        WHERE below.tenant_id = :tenantId::uuid AND below.root_task_id = :taskId
      )) AND claimed.attempt > 1 AND NOT :fresh::boolean
    HAVING sum(used.cost) > 0 OR sum(used.tokens) > 0
  ) AS before ON true
), opened AS (
  -- Names the newest column, so that a schema that cannot be billed in is refused before a request is sent.
  INSERT INTO elo_agent_model_calls (tenant_id, task_id, run_id, call_no, step, purpose, model_requested, unbilled_tokens)
  SELECT :tenantId::uuid, :taskId, :runId::uuid, next.step, next.step, coalesce(:purpose::text, 'step'), :modelRequested::text, NULL
  FROM going_on CROSS JOIN LATERAL (SELECT coalesce(last_step, 0) + 1 AS step) AS next WHERE :modelRequested::text IS NOT NULL
), forgotten AS (
  DELETE FROM elo_agent_journal
  WHERE :fresh::boolean AND tenant_id = :tenantId::uuid AND task_id = :taskId AND EXISTS (SELECT FROM claimed)
)
SELECT 'claimed' AS kind, attempt, NULL::text AS result, entries::text AS journal, spent::text AS spent, 0 AS wait FROM going_on
UNION ALL
SELECT
  CASE
    -- A task from outside and one that works for another are never the same.
    WHEN run.root_task_id IS DISTINCT FROM :rootTaskId::text OR run.digest <> :digest AND NOT :fresh::boolean THEN 'conflict'
    WHEN run.state IN ('done', 'waiting') AND NOT :fresh::boolean THEN 'done'
    WHEN budget.room <> 'ok' AND (:fresh::boolean OR run.state = 'failed' OR run.lease_until < now()) THEN budget.room
    ELSE 'running'
  END,
  run.attempt,
  CASE WHEN run.digest = :digest AND run.state IN ('done', 'waiting') THEN run.result::text END,
  NULL, NULL, 0
FROM elo_agent_runs AS run, budget
WHERE run.tenant_id = :tenantId::uuid AND run.task_id = :taskId AND NOT EXISTS (SELECT FROM claimed)
  AND NOT EXISTS (SELECT FROM rate WHERE rate.wait > 0)
UNION ALL
SELECT 'limited', 0, NULL, NULL, NULL, rate.wait FROM rate WHERE rate.wait > 0
UNION ALL
SELECT budget.room, 0, NULL, NULL, NULL, 0 FROM budget
WHERE budget.room <> 'ok' AND NOT EXISTS (SELECT FROM elo_agent_runs AS run WHERE run.tenant_id = :tenantId::uuid AND run.task_id = :taskId)

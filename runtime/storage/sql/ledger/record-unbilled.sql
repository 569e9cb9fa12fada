-- What remains of a write that the bill refused: the usage, which counts towards the month's limits as long as its calls are
-- open, and the end of the run. Names no table that another program has, so that it succeeds whatever became of those.
WITH counted AS (
  INSERT INTO elo_agent_model_calls AS call (
    tenant_id, task_id, run_id, call_no, step, purpose, model_requested, unanswered_requests, unbilled_at, unbilled_cost_usd,
    unbilled_tokens
  )
  SELECT :tenantId::uuid, :taskId, :runId::uuid, coalesce(one."callNo", one.step), one.step, coalesce(one.purpose, 'step'),
    one."modelRequested", one."unansweredRequests",
    CASE WHEN :isBilled::boolean AND one.usage IS NOT NULL THEN now() END, one."costUsd",
    (one.usage ->> 'promptTokens')::bigint + (one.usage ->> 'completionTokens')::bigint
  FROM jsonb_to_recordset(:calls::jsonb) AS one (
    "callNo" int, step int, purpose text, "modelRequested" text, "unansweredRequests" int, "costUsd" numeric, usage jsonb
  )
  ON CONFLICT (tenant_id, run_id, call_no) DO UPDATE SET
    unbilled_at = coalesce(call.unbilled_at, EXCLUDED.unbilled_at),
    unbilled_cost_usd = EXCLUDED.unbilled_cost_usd, unbilled_tokens = EXCLUDED.unbilled_tokens,
    unanswered_requests = EXCLUDED.unanswered_requests
  WHERE call.closed_at IS NULL
), run AS (
  UPDATE elo_agent_runs AS run SET
    state = :state::text, result = :result::json, lease_until = NULL, held_cost_usd = NULL, held_tokens = NULL,
    resume = CASE WHEN :state::text IN ('done', 'waiting') THEN :saved::json ELSE run.resume END, updated_at = now()
  WHERE :state::text IS NOT NULL AND run.state = 'running'
    AND run.tenant_id = :tenantId::uuid AND run.task_id = :taskId AND run.run_id = :runId::uuid
  RETURNING run.state
    -- With a turn:
    , elo_agent_add_turn(:tenantId::uuid, :taskId, :runId::uuid, :turn::jsonb)
    -- Always:
), never_sent AS (
  DELETE FROM elo_agent_model_calls
  WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND run_id = :runId::uuid AND closed_at IS NULL
    AND (purpose IN ('step', 'plan', 'supervise') AND coalesce(step, call_no) > :lastStep::int OR call_no = ANY (:unsent::int[]))
)
DELETE FROM elo_agent_journal
WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND EXISTS (SELECT FROM run WHERE run.state = 'done')

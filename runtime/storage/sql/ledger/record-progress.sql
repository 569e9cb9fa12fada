-- One statement a step and one at the end. A call is added to the bill only when its row goes from open to closed, so that a
-- repeated write adds nothing. Usage counts for every attempt; state and result only for the attempt that holds the task.
-- `cost_exact` is never rounded; `cost_usd` is rounded from it, half up, each time. Lists are JSON, as the contracts have them.
WITH written AS (
  INSERT INTO elo_agent_model_calls AS call (
    tenant_id, task_id, run_id, call_no, step, purpose, model_requested, model_returned, model_billed, provider_request_id,
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens,
    cost_exact, saved_exact, provider_cost_usd, unanswered_requests, error_code, cost_basis, usage_estimated, closed_at
  )
  SELECT
    :tenantId::uuid, :taskId, :runId::uuid, coalesce(one."callNo", one.step), one.step, coalesce(one.purpose, 'step'),
    one."modelRequested", one."modelReturned", one."modelBilled", one."providerRequestId", (one.usage ->> 'promptTokens')::bigint, (one.usage ->> 'completionTokens')::bigint,
    (one.usage ->> 'cachedTokens')::bigint, (one.usage ->> 'cacheWriteTokens')::bigint,
    (one.usage ->> 'cacheWrite1hTokens')::bigint, (one.usage ->> 'reasoningTokens')::bigint,
    one."costUsd", one."savedUsd", one."providerCostUsd", one."unansweredRequests", one."errorCode", one."costBasis",
    coalesce(one."usageEstimated", false), CASE WHEN one.usage IS NOT NULL THEN now() END
  FROM jsonb_to_recordset(:calls::jsonb) AS one (
    -- A build of before has kept calls without a number for later.
    "callNo" int, step int, purpose text, "modelRequested" text, "modelReturned" text, "modelBilled" text, "providerRequestId" text, usage jsonb,
    "costUsd" numeric, "savedUsd" numeric, "providerCostUsd" numeric, "unansweredRequests" int, "errorCode" text,
    "costBasis" text, "usageEstimated" boolean
  )
  ON CONFLICT (tenant_id, run_id, call_no) DO UPDATE SET
    purpose = EXCLUDED.purpose, model_requested = EXCLUDED.model_requested, model_returned = EXCLUDED.model_returned,
    model_billed = EXCLUDED.model_billed,
    provider_request_id = EXCLUDED.provider_request_id, prompt_tokens = EXCLUDED.prompt_tokens,
    completion_tokens = EXCLUDED.completion_tokens, cached_tokens = EXCLUDED.cached_tokens,
    cache_write_tokens = EXCLUDED.cache_write_tokens, cache_write_1h_tokens = EXCLUDED.cache_write_1h_tokens,
    reasoning_tokens = EXCLUDED.reasoning_tokens, cost_exact = EXCLUDED.cost_exact, saved_exact = EXCLUDED.saved_exact,
    provider_cost_usd = EXCLUDED.provider_cost_usd, unanswered_requests = EXCLUDED.unanswered_requests,
    error_code = EXCLUDED.error_code, cost_basis = EXCLUDED.cost_basis, usage_estimated = EXCLUDED.usage_estimated,
    closed_at = EXCLUDED.closed_at
  WHERE call.closed_at IS NULL AND (EXCLUDED.closed_at IS NOT NULL OR EXCLUDED.unanswered_requests IS NOT NULL)
  RETURNING call.*
), added AS (
  SELECT
    count(*) AS calls,
    coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
    coalesce(sum(cached_tokens), 0) AS cached_tokens, coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens,
    coalesce(sum(cache_write_tokens), 0) + coalesce(sum(cache_write_1h_tokens), 0) AS cache_write_tokens,
    coalesce(sum(cost_exact), 0) AS cost_exact, sum(saved_exact) AS saved_exact, sum(provider_cost_usd) AS provider_cost_usd,
    (array_agg(model_billed ORDER BY call_no DESC))[1] AS model_id,
    (array_agg(model_billed ORDER BY call_no DESC) FILTER (WHERE purpose IN ('step', 'plan', 'supervise') AND NOT :isBelow::boolean))[1] AS step_model_id,
    coalesce(bool_or(usage_estimated), false) AS usage_estimated
  FROM written WHERE closed_at IS NOT NULL
), budget AS MATERIALIZED (
  -- The lines of this statement are not in the month's sum yet.
  SELECT
    elo_agent_reserve(:tenantId::uuid, :runIds::uuid[],
      :costLimitUsd::numeric, :tokenLimit::numeric,
      CASE WHEN :isBilled::boolean THEN added.cost_exact ELSE 0 END,
      CASE WHEN :isBilled::boolean THEN added.prompt_tokens + added.completion_tokens ELSE 0 END) AS room
  FROM added
), run AS (
  UPDATE elo_agent_runs AS run SET
    -- A write that comes after the end changes neither the end nor what is kept for going on.
    lease_until = CASE
      WHEN :state::text IS NULL AND run.state = 'running' THEN now() + :leaseMs::int * interval '1 millisecond'
    END,
    state = coalesce(:state::text, run.state), result = coalesce(:result::json, run.result), updated_at = now(),
    -- Until it is done or waits again, the approval that it goes on with may come again.
    resume = CASE WHEN :state::text IN ('done', 'waiting') THEN :saved::json ELSE run.resume END,
    held_cost_usd = CASE
      WHEN :isReserving::boolean AND budget.room = 'ok' THEN :holdCostUsd::numeric
      WHEN :isReserving::boolean OR :isHolding::boolean THEN :heldCostUsd::numeric
      ELSE run.held_cost_usd
    END,
    held_tokens = CASE
      WHEN :isReserving::boolean AND budget.room = 'ok' THEN :holdTokens::bigint
      WHEN :isReserving::boolean OR :isHolding::boolean THEN :heldTokens::bigint
      ELSE run.held_tokens
    END
  FROM budget
  WHERE run.tenant_id = :tenantId::uuid AND run.task_id = :taskId AND run.run_id = :runId::uuid
  RETURNING run.run_id, run.state
), taken AS MATERIALIZED (
  SELECT ordered."toolCallId", elo_agent_take_call(:tenantId::uuid, ordered.code, ordered.tool,
    ordered."callsPerMinute", ordered."callsPerDay", ordered."ofAgent" ->> 'agent',
    (ordered."ofAgent" ->> 'callsPerMinute')::int, (ordered."ofAgent" ->> 'callsPerDay')::int) AS reason
  FROM (
    -- In one order everywhere, so that two runs never wait for each other.
    SELECT one.* FROM jsonb_to_recordset(:taking::jsonb) AS one (
      "toolCallId" text, tool text, code text, "callsPerMinute" int, "callsPerDay" int, "ofAgent" jsonb
    )
    ORDER BY one.tool, one."toolCallId" OFFSET 0
  ) AS ordered, budget, run
  WHERE budget.room = 'ok'
), audited AS (
  INSERT INTO elo_tool_executions (
    tenant_id, task_id, run_id, step, tool_call_id, tool, client_id, dialog_id, user_id, session_id, arguments, decision,
    decided_by, is_error, code, duration_ms
  )
  SELECT :tenantId::uuid, :taskId, :runId::uuid, one.step, one.id, left(one.tool, 200), :clientId::text, :dialogId::text,
    :userId::text, :sessionId::text, one.arguments, one.decision, one."decidedBy",
    coalesce((one.outcome ->> 'isError')::boolean, false), left(one.outcome ->> 'code', 50), one."durationMs"
  FROM jsonb_to_recordset(:audit::jsonb) AS one (
    step int, id text, tool text, arguments jsonb, decision text, "decidedBy" text, outcome jsonb, "durationMs" int
  )
  ON CONFLICT (tenant_id, run_id, tool_call_id) DO NOTHING
), forgotten AS (
  DELETE FROM elo_agent_journal
  WHERE :state::text = 'done' AND tenant_id = :tenantId::uuid AND task_id = :taskId AND EXISTS (SELECT FROM run)
), journaled AS (
  INSERT INTO elo_agent_journal AS kept (tenant_id, task_id, step, entry, run_id, sent, content)
  SELECT :tenantId::uuid, :taskId, one.step, one.entry, :runId::uuid,
    CASE budget.room WHEN 'ok' THEN one.sent || one.sending ELSE one.sent END, one.content
  FROM budget, run, jsonb_to_recordset(:journal::jsonb) AS one (
    step int, entry text, sent int[], sending int[], content text
  )
  -- A write that comes after the end leaves what is kept as it is.
  WHERE :state::text IS NOT NULL OR run.state = 'running'
  ON CONFLICT (tenant_id, task_id, step, entry) DO UPDATE SET
    run_id = EXCLUDED.run_id, sent = EXCLUDED.sent, content = EXCLUDED.content
), never_sent AS (
  DELETE FROM elo_agent_model_calls
  -- With the task too: planned before there are statistics, by either index it finds few rows.
  WHERE tenant_id = :tenantId::uuid AND task_id = :taskId AND run_id = :runId::uuid AND closed_at IS NULL
    AND (purpose IN ('step', 'plan', 'supervise') AND coalesce(step, call_no) > :lastStep::int OR call_no = ANY (:unsent::int[]))
), billed AS (
  INSERT INTO elo_t_token_usage AS line (
    tenant_id, trace_id, task_id, run_id, model_id, agent_tier, task_type, prompt_tokens, completion_tokens,
    total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, model_calls, cost_exact, cost_usd, saved_exact,
    provider_cost_usd, usage_estimated, run_client_id, run_dialog_id, run_user_id, run_session_id
  )
  SELECT
    :tenantId::uuid, :traceId, :billedTaskId, :billedRunId::uuid,
    left(coalesce(added.step_model_id, :modelRequested, added.model_id), 100),
    left(:tier, 20), left(:taskType, 50),
    added.prompt_tokens, added.completion_tokens, added.prompt_tokens + added.completion_tokens,
    added.cached_tokens, added.cache_write_tokens, added.reasoning_tokens, added.calls, added.cost_exact,
    elo_agent_fitting_cost(added.cost_exact), added.saved_exact, added.provider_cost_usd,
    added.usage_estimated, :clientId::text, :dialogId::text, :userId::text, :sessionId::text
  FROM added WHERE :isBilled::boolean AND (added.calls > 0 OR :state::text IS NOT NULL)
  ON CONFLICT (tenant_id, task_id) WHERE run_id IS NOT NULL DO UPDATE SET
    -- A run that works for that of the line, and one that was taken over, leave it whose it is.
    run_id = CASE WHEN :isBelow::boolean OR NOT EXISTS (SELECT FROM run) THEN line.run_id ELSE EXCLUDED.run_id END,
    model_id = coalesce((SELECT left(added.step_model_id, 100) FROM added), line.model_id),
    agent_tier = EXCLUDED.agent_tier,
    prompt_tokens = line.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = line.completion_tokens + EXCLUDED.completion_tokens,
    total_tokens = line.total_tokens + EXCLUDED.total_tokens,
    cached_tokens = line.cached_tokens + EXCLUDED.cached_tokens,
    cache_write_tokens = coalesce(line.cache_write_tokens, 0) + EXCLUDED.cache_write_tokens,
    reasoning_tokens = line.reasoning_tokens + EXCLUDED.reasoning_tokens,
    model_calls = line.model_calls + EXCLUDED.model_calls,
    cost_exact = line.cost_exact + EXCLUDED.cost_exact,
    cost_usd = elo_agent_fitting_cost(line.cost_exact + EXCLUDED.cost_exact),
    saved_exact = CASE
      WHEN line.saved_exact IS NULL THEN EXCLUDED.saved_exact
      ELSE line.saved_exact + coalesce(EXCLUDED.saved_exact, 0)
    END,
    provider_cost_usd = CASE
      WHEN line.provider_cost_usd IS NULL THEN EXCLUDED.provider_cost_usd
      ELSE line.provider_cost_usd + coalesce(EXCLUDED.provider_cost_usd, 0)
    END,
    usage_estimated = line.usage_estimated IS TRUE OR EXCLUDED.usage_estimated,
    -- What an older version has kept for later names nobody.
    run_client_id = coalesce(EXCLUDED.run_client_id, line.run_client_id),
    run_dialog_id = coalesce(EXCLUDED.run_dialog_id, line.run_dialog_id),
    run_user_id = coalesce(EXCLUDED.run_user_id, line.run_user_id),
    run_session_id = coalesce(EXCLUDED.run_session_id, line.run_session_id)
  RETURNING line.run_id
)
SELECT EXISTS (SELECT FROM run) AS is_ours,
  -- With a turn:
  (SELECT elo_agent_add_turn(:tenantId::uuid, :taskId, :runId::uuid, :turn::jsonb) FROM run) AS has_turn,
  -- Always:
  (SELECT elo_agent_miss_line() FROM added
    WHERE :isBilled::boolean AND NOT EXISTS (SELECT FROM billed) AND (
      added.calls > 0
      -- A write that adds nothing may be dropped where the line is there.
      OR :state::text IS NOT NULL AND NOT EXISTS (
        SELECT FROM elo_t_token_usage WHERE tenant_id = :tenantId::uuid AND task_id = :billedTaskId AND run_id IS NOT NULL
      )
    )) AS missed,
  CASE WHEN :isReserving::boolean THEN (SELECT room FROM budget) END AS room,
  (SELECT json_agg(json_build_object('toolCallId', taken."toolCallId", 'reason', taken.reason))
    FROM taken WHERE taken.reason IS NOT NULL) AS refused,
  CASE WHEN :taking::jsonb IS NOT NULL THEN elo_agent_policy_version(:tenantId::uuid) END AS policy_version

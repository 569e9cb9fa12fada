import type { CallToTake, Identity, RunProgress } from '../../contracts/ledger';
import type { ModelCallRecord } from '../../contracts/usage';
import type { JournalLine } from '../postgres/journal-entries';
import type { Statement } from '../statement';
import { auditCalls, executionJson } from './audit-calls';
import { reservationValues } from './claim-run';
import { storableJson } from './storable';

/**
 * One statement a step and one at the end. A call is added to the bill only when its row goes from open to closed,
 * so that a repeated write adds nothing. Usage counts for every attempt; state and result only for the attempt
 * that holds the task. `cost_exact` is never rounded; `cost_usd` is rounded from it, half up, each time.
 */
const TEXT = `
WITH written AS (
  INSERT INTO elo_agent_model_calls AS call (
    tenant_id, task_id, run_id, call_no, model_requested, model_returned, model_billed, provider_request_id,
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens,
    cost_exact, saved_exact, provider_cost_usd, unanswered_requests, error_code, cost_basis, closed_at
  )
  SELECT
    $1::uuid, $2, $3::uuid, given.call_no, given.model_requested, given.model_returned, given.model_billed,
    given.provider_request_id, given.prompt_tokens, given.completion_tokens, given.cached_tokens,
    given.cache_write_tokens, given.cache_write_1h_tokens, given.reasoning_tokens, given.cost_exact, given.saved_exact,
    given.provider_cost_usd, given.unanswered_requests, given.error_code, given.cost_basis,
    CASE WHEN given.is_closed THEN now() END
  FROM jsonb_to_recordset($4::jsonb) AS given (
    call_no int, model_requested text, model_returned text, model_billed text, provider_request_id text,
    prompt_tokens bigint, completion_tokens bigint, cached_tokens bigint, cache_write_tokens bigint,
    cache_write_1h_tokens bigint, reasoning_tokens bigint, cost_exact numeric, saved_exact numeric,
    provider_cost_usd numeric, unanswered_requests int, error_code text,
    cost_basis text, is_closed boolean
  )
  ON CONFLICT (tenant_id, run_id, call_no) DO UPDATE SET
    model_requested = EXCLUDED.model_requested, model_returned = EXCLUDED.model_returned,
    model_billed = EXCLUDED.model_billed,
    provider_request_id = EXCLUDED.provider_request_id, prompt_tokens = EXCLUDED.prompt_tokens,
    completion_tokens = EXCLUDED.completion_tokens, cached_tokens = EXCLUDED.cached_tokens,
    cache_write_tokens = EXCLUDED.cache_write_tokens, cache_write_1h_tokens = EXCLUDED.cache_write_1h_tokens,
    reasoning_tokens = EXCLUDED.reasoning_tokens, cost_exact = EXCLUDED.cost_exact, saved_exact = EXCLUDED.saved_exact,
    provider_cost_usd = EXCLUDED.provider_cost_usd, unanswered_requests = EXCLUDED.unanswered_requests,
    error_code = EXCLUDED.error_code, cost_basis = EXCLUDED.cost_basis, closed_at = EXCLUDED.closed_at
  WHERE call.closed_at IS NULL AND EXCLUDED.closed_at IS NOT NULL
  RETURNING call.*
), added AS (
  SELECT
    count(*) AS calls,
    coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
    coalesce(sum(cached_tokens), 0) AS cached_tokens, coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens,
    coalesce(sum(cache_write_tokens), 0) + coalesce(sum(cache_write_1h_tokens), 0) AS cache_write_tokens,
    coalesce(sum(cost_exact), 0) AS cost_exact, sum(saved_exact) AS saved_exact, sum(provider_cost_usd) AS provider_cost_usd,
    (array_agg(model_billed ORDER BY call_no DESC))[1] AS model_id
  FROM written WHERE closed_at IS NOT NULL
), budget AS MATERIALIZED (
  -- The lines of this statement are not in the month's sum yet.
  SELECT elo_agent_reserve($1::uuid, $3::uuid, $14::numeric, $15::numeric,
    CASE WHEN $13::boolean THEN added.cost_exact ELSE 0 END,
    CASE WHEN $13::boolean THEN added.prompt_tokens + added.completion_tokens ELSE 0 END) AS room
  FROM added
), run AS (
  UPDATE elo_agent_runs AS run SET
    -- A write that comes after the end changes neither the end nor what is kept for going on.
    lease_until = CASE WHEN $6::text IS NULL AND run.state = 'running' THEN now() + $5::int * interval '1 millisecond' END,
    state = coalesce($6::text, state), result = coalesce($7::json, result), updated_at = now(),
    -- Until it is done or waits anew, the approval that it goes on with may come again.
    resume = CASE WHEN $6::text IN ('done', 'waiting') THEN $18::json ELSE run.resume END,
    held_cost_usd = CASE WHEN $19::boolean THEN CASE budget.room WHEN 'ok' THEN $16::numeric END ELSE run.held_cost_usd END,
    held_tokens = CASE WHEN $19::boolean THEN CASE budget.room WHEN 'ok' THEN $17::bigint END ELSE run.held_tokens END
  FROM budget
  WHERE run.tenant_id = $1::uuid AND run.task_id = $2 AND run.run_id = $3::uuid
  RETURNING run.run_id, run.state
), taken AS MATERIALIZED (
  SELECT given.tool_call_id, elo_agent_take_call($1::uuid, given.code, given.tool, given.per_minute, given.per_day,
    given.agent, given.agent_per_minute, given.agent_per_day) AS reason
  FROM (
    -- In one order everywhere, so that two runs never wait for each other.
    SELECT * FROM jsonb_to_recordset($20::jsonb) AS one (
      tool_call_id text, tool text, code text, per_minute int, per_day int,
      agent text, agent_per_minute int, agent_per_day int
    )
    ORDER BY tool, tool_call_id OFFSET 0
  ) AS given, budget, run
  WHERE budget.room = 'ok'
), audited AS (${auditCalls('$21')}
), forgotten AS (
  DELETE FROM elo_agent_journal
  WHERE $6::text = 'done' AND tenant_id = $1::uuid AND task_id = $2 AND EXISTS (SELECT FROM run)
), journaled AS (
  INSERT INTO elo_agent_journal AS kept (tenant_id, task_id, step, entry, run_id, sent, content)
  SELECT $1::uuid, $2, given.step, given.entry, $3::uuid,
    CASE budget.room WHEN 'ok' THEN given.sent || given.sending ELSE given.sent END, given.content
  FROM json_to_recordset($22::json) AS given (step int, entry text, sent int[], sending int[], content text), budget, run
  -- A write that comes after the end leaves what is kept as it is.
  WHERE $6::text IS NOT NULL OR run.state = 'running'
  ON CONFLICT (tenant_id, task_id, step, entry) DO UPDATE SET
    run_id = EXCLUDED.run_id, sent = EXCLUDED.sent, content = EXCLUDED.content
), never_sent AS (
  DELETE FROM elo_agent_model_calls
  -- With the task too: planned before there are statistics, by either index it finds few rows.
  WHERE tenant_id = $1::uuid AND task_id = $2 AND run_id = $3::uuid AND call_no > $8::int AND closed_at IS NULL
), billed AS (
  INSERT INTO elo_t_token_usage AS line (
    tenant_id, trace_id, task_id, run_id, model_id, agent_tier, task_type, prompt_tokens, completion_tokens,
    total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, model_calls, cost_exact, cost_usd, saved_exact,
    provider_cost_usd, run_client_id, run_dialog_id, run_user_id, run_session_id
  )
  SELECT
    $1::uuid, $9, $2, $3::uuid, left(coalesce(added.model_id, $10), 100), left($11, 20), left($12, 50),
    added.prompt_tokens, added.completion_tokens, added.prompt_tokens + added.completion_tokens,
    added.cached_tokens, added.cache_write_tokens, added.reasoning_tokens, added.calls, added.cost_exact,
    elo_agent_fitting_cost(added.cost_exact), added.saved_exact, added.provider_cost_usd,
    $23, $24, $25, $26
  FROM added WHERE $13::boolean AND (added.calls > 0 OR $6::text IS NOT NULL)
  ON CONFLICT (tenant_id, task_id) WHERE run_id IS NOT NULL DO UPDATE SET
    run_id = EXCLUDED.run_id,
    model_id = CASE WHEN EXCLUDED.model_calls > 0 THEN EXCLUDED.model_id ELSE line.model_id END,
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
    saved_exact = CASE WHEN line.saved_exact IS NULL THEN EXCLUDED.saved_exact ELSE line.saved_exact + coalesce(EXCLUDED.saved_exact, 0) END,
    provider_cost_usd = CASE
      WHEN line.provider_cost_usd IS NULL THEN EXCLUDED.provider_cost_usd
      ELSE line.provider_cost_usd + coalesce(EXCLUDED.provider_cost_usd, 0)
    END,
    -- What an older version has kept for later names nobody.
    run_client_id = coalesce(EXCLUDED.run_client_id, line.run_client_id),
    run_dialog_id = coalesce(EXCLUDED.run_dialog_id, line.run_dialog_id),
    run_user_id = coalesce(EXCLUDED.run_user_id, line.run_user_id),
    run_session_id = coalesce(EXCLUDED.run_session_id, line.run_session_id)
)
SELECT EXISTS (SELECT FROM run) AS held,
  CASE WHEN $19::boolean THEN (SELECT room FROM budget) END AS room,
  (SELECT json_agg(json_build_object('toolCallId', taken.tool_call_id, 'reason', taken.reason))
    FROM taken WHERE taken.reason IS NOT NULL) AS refused,
  CASE WHEN $20::jsonb <> '[]' THEN elo_agent_policy_version($1::uuid) END AS policy_version`;

export interface ProgressRow {
  readonly held: boolean;
  readonly room: 'ok' | 'held' | 'exceeded' | null;
  readonly refused: readonly { readonly toolCallId: string; readonly reason: string }[] | null;
  readonly policy_version: string | null;
}

const MAX_INT = 2_147_483_647;

/** What the run that comes after this one goes on with. */
interface KeptForLater {
  /** JSON text, for a run that waits for an approval. */
  readonly waiting: string | null;
  readonly journal: readonly JournalLine[];
}

export function recordProgressStatement(progress: RunProgress, { waiting, journal }: KeptForLater): Statement {
  const { tenantId, taskId, runId, leaseMs } = progress;
  const key = [tenantId, taskId, runId];
  return {
    tenantId,
    text: TEXT,
    values: [
      ...[...key, callsJson(progress), leaseMs, ...endValues(progress), ...billValues(progress)],
      ...reservationValues(progress.reserve),
      waiting,
      progress.reserve !== undefined,
      storableJson((progress.taking ?? []).map(takenCall)),
      executionJson(progress.executions ?? []),
      JSON.stringify(journal),
      ...identityValues(progress.bill),
    ],
  };
}

function callsJson({ closed, opening }: RunProgress): string {
  const opened =
    opening === undefined
      ? []
      : [{ call_no: opening.callNo, model_requested: opening.modelRequested, is_closed: false }];
  return storableJson([...closed.map(closedCall), ...opened]);
}

function endValues({ end }: RunProgress): readonly unknown[] {
  return end === undefined ? [null, null, MAX_INT] : [end.state, JSON.stringify(end.result), end.lastSentCallNo];
}

function billValues({ bill, closed }: RunProgress): readonly unknown[] {
  const costs = closed.some(({ costUsd, providerCostUsd = 0 }) => Number(costUsd) > 0 || Number(providerCostUsd) > 0);
  if (bill === undefined || (bill.onlyWhatCosts === true && !costs)) return [null, '', '', '', false];
  return [bill.traceId ?? null, bill.modelRequested, bill.tier, bill.taskType, true];
}

function identityValues({ clientId, dialogId, userId, sessionId }: Identity = {}): readonly unknown[] {
  return [clientId ?? null, dialogId ?? null, userId ?? null, sessionId ?? null];
}

function takenCall(call: CallToTake): Record<string, unknown> {
  const { toolCallId, tool, code, callsPerMinute, callsPerDay, ofAgent } = call;
  return {
    tool_call_id: toolCallId,
    tool,
    code,
    per_minute: callsPerMinute,
    per_day: callsPerDay,
    agent: ofAgent?.agent,
    agent_per_minute: ofAgent?.callsPerMinute,
    agent_per_day: ofAgent?.callsPerDay,
  };
}

function closedCall(call: ModelCallRecord): Record<string, unknown> {
  return {
    call_no: call.callNo,
    model_requested: call.modelRequested,
    model_returned: call.modelReturned,
    model_billed: call.modelBilled,
    provider_request_id: call.providerRequestId,
    prompt_tokens: call.usage.promptTokens,
    completion_tokens: call.usage.completionTokens,
    cached_tokens: call.usage.cachedTokens,
    cache_write_tokens: call.usage.cacheWriteTokens,
    cache_write_1h_tokens: call.usage.cacheWrite1hTokens,
    reasoning_tokens: call.usage.reasoningTokens,
    cost_exact: call.costUsd,
    saved_exact: call.savedUsd,
    provider_cost_usd: call.providerCostUsd,
    unanswered_requests: call.unansweredRequests,
    error_code: call.errorCode,
    cost_basis: call.costBasis,
    is_closed: true,
  };
}

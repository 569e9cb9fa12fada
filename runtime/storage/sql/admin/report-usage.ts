import { named } from '../named';
import type { BilledLines } from '../usage-report';

/** Calls of models, within the same bounds as the bill. */
const OF_CALLS = `(:tenantId::uuid IS NULL OR tenant_id = :tenantId::uuid)
  AND (:from::date IS NULL OR opened_at >= :from::date::timestamp AT TIME ZONE 'UTC')
  AND (:until::date IS NULL OR opened_at < :until::date::timestamp AT TIME ZONE 'UTC')`;

export interface ModelHealth {
  readonly model: string;
  readonly calls: number;
  readonly failed: number;
  readonly median_ms: number | null;
  readonly p95_ms: number | null;
}

export const modelHealth = named<BilledLines>(`
SELECT coalesce(model_billed, model_requested) AS model, count(*)::int AS calls,
  count(*) FILTER (WHERE error_code IS NOT NULL)::int AS failed,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM closed_at - opened_at) * 1000))::int AS median_ms,
  round(percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM closed_at - opened_at) * 1000))::int AS p95_ms
FROM elo_agent_model_calls WHERE closed_at IS NOT NULL AND ${OF_CALLS}
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20`);

/** Sums the calls billed without reliable tokens of the provider: by its own figure of the cost, or by estimated tokens. */
export const uncertainCost = named<BilledLines>(`
SELECT coalesce(cost_basis, 'estimate') AS basis, count(*)::int AS calls, sum(cost_exact)::text AS cost_usd
FROM elo_agent_model_calls WHERE (cost_basis = 'provider' OR usage_estimated) AND ${OF_CALLS}
GROUP BY 1`);

export const unknownCalls = named<BilledLines>(`
SELECT count(*)::int AS calls FROM elo_agent_model_calls AS call
WHERE (call.unanswered_requests > 0 OR call.closed_at IS NULL AND call.opened_at < now() - interval '1 hour') AND ${OF_CALLS}`);

export interface AgentUse {
  readonly agent: string;
  readonly runs: number;
  readonly calls: number;
  readonly tokens: string;
  readonly cost_usd: string;
}

/**
 * Each agent with what its own model calls have used, dearest first: that of agents that it has asked is theirs. A task that was run
 * afresh counts for the agent that it had last.
 */
export const agentUse = named<BilledLines>(`
SELECT run.agent, count(*)::int AS runs, sum(used.calls)::int AS calls, sum(used.tokens)::text AS tokens, sum(used.cost)::text AS cost_usd
FROM (
  SELECT tenant_id, task_id, count(*) AS calls, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens,
    coalesce(sum(cost_exact), 0) AS cost
  FROM elo_agent_model_calls WHERE closed_at IS NOT NULL AND ${OF_CALLS} GROUP BY 1, 2
) AS used
JOIN elo_agent_runs AS run USING (tenant_id, task_id) WHERE run.agent IS NOT NULL
GROUP BY 1 ORDER BY sum(used.cost) DESC, 1 LIMIT 20`);

export interface ToolUse {
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  readonly median_ms: number | null;
}

export const toolUse = named<BilledLines>(`
SELECT tool, count(*)::int AS calls, count(*) FILTER (WHERE is_error)::int AS failed,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms))::int AS median_ms
FROM elo_tool_executions
WHERE (:tenantId::uuid IS NULL OR tenant_id = :tenantId::uuid)
  AND (:from::date IS NULL OR created_at >= :from::date::timestamp AT TIME ZONE 'UTC')
  AND (:until::date IS NULL OR created_at < :until::date::timestamp AT TIME ZONE 'UTC')
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20`);

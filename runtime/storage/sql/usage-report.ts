import type { Statement } from '../statement';
import { named } from './named';

/** What a bill can be grouped by. Months and days are those of UTC, as budgets count them. */
const GROUPS = {
  tenant: ['tenant_id', 'tenant_id::text'],
  month: ['month', `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM')`],
  day: ['day', `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`],
  model: ['model_id', 'model_id'],
  tier: ['agent_tier', 'agent_tier'],
  client: ['client_id', 'run_client_id'],
  dialog: ['dialog_id', 'run_dialog_id'],
  user: ['user_id', 'run_user_id'],
  session: ['session_id', 'run_session_id'],
} as const;

export type UsageGroup = keyof typeof GROUPS;
export const USAGE_GROUPS = Object.keys(GROUPS) as readonly UsageGroup[];

/** Lines of the bill: of one tenant or of all, from a day on and before another. */
export interface BilledLines {
  readonly tenantId?: string;
  /** The first day, as `YYYY-MM-DD` in UTC. */
  readonly from?: string;
  /** The day after the last one. */
  readonly until?: string;
}

const OF_LINES = `(:tenantId::uuid IS NULL OR tenant_id = :tenantId::uuid)
  AND (:from::date IS NULL OR created_at >= :from::date::timestamp AT TIME ZONE 'UTC')
  AND (:until::date IS NULL OR created_at < :until::date::timestamp AT TIME ZONE 'UTC')`;

const COST = 'sum(elo_agent_line_cost(cost_usd::numeric, cost_exact))';

/**
 * The bill by these groups, times newest first; its sum without any. From the lines: an installation's own view knows no caches, and a
 * column that is too narrow for a line has the exact figure beside it.
 */
export function usageStatement(by: readonly UsageGroup[], lines: BilledLines): Statement {
  const shown = by.map((group) => GROUPS[group]);
  const order = shown.map(([name]) => (name === 'month' || name === 'day' ? `${name} DESC` : name));
  return named<BilledLines>(`
SELECT ${shown.map(([name, column]) => `${column} AS ${name}, `).join('')}count(*)::int AS request_count,
  sum(prompt_tokens)::text AS total_prompt_tokens, sum(completion_tokens)::text AS total_completion_tokens,
  sum(total_tokens)::text AS total_tokens, coalesce(sum(cached_tokens), 0)::text AS total_cached_tokens,
  coalesce(sum(cache_write_tokens), 0)::text AS total_cache_written_tokens,
  coalesce(sum(reasoning_tokens), 0)::text AS total_reasoning_tokens,
  ${COST}::text AS total_cost_usd, round(coalesce(sum(saved_exact), 0), 8)::text AS total_saved_usd
FROM elo_t_token_usage WHERE ${OF_LINES}
${shown.length === 0 ? '' : `GROUP BY ${shown.map((_, index) => index + 1).join(', ')} ORDER BY ${order.join(', ')}`}`)(
    lines,
  );
}

/** The dearest tenants first. One that is gone has no name. */
export const topSpenders = named<BilledLines & { readonly rows: number }>(`
SELECT line.tenant_id::text AS tenant_id, tenant.name AS tenant, count(*)::int AS request_count,
  sum(total_tokens)::text AS total_tokens, ${COST}::text AS total_cost_usd,
  round(100 * ${COST} / nullif(sum(${COST}) OVER (), 0), 2)::text AS share_percent
FROM elo_t_token_usage AS line LEFT JOIN elo_v_agent_tenants AS tenant ON tenant.id = line.tenant_id
WHERE ${OF_LINES}
GROUP BY line.tenant_id, tenant.name
ORDER BY ${COST} DESC, line.tenant_id LIMIT :rows`);

/** The lines themselves, the oldest first. */
export const billedLines = named<BilledLines & { readonly rows: number }>(`
SELECT created_at, tenant_id::text AS tenant_id, task_id, trace_id, task_type, model_id, agent_tier,
  prompt_tokens, completion_tokens, total_tokens, coalesce(cached_tokens, 0) AS cached_tokens,
  coalesce(cache_write_tokens, 0) AS cache_write_tokens, coalesce(reasoning_tokens, 0) AS reasoning_tokens,
  elo_agent_line_cost(cost_usd::numeric, cost_exact)::text AS cost_usd, usage_estimated IS TRUE AS usage_estimated,
  run_client_id AS client_id, run_dialog_id AS dialog_id, run_user_id AS user_id, run_session_id AS session_id
FROM elo_t_token_usage WHERE ${OF_LINES} ORDER BY id LIMIT :rows`);

/**
 * Requests whose usage is unknown and not estimated: calls that a run left open when it ended or died, and requests that were lost
 * before another one was answered. With `unbilled_cost_usd` it is known, but the bill did not take it.
 */
export const unknownUsage = named<{ readonly tenantId?: string }>(`
SELECT call.task_id, call.run_id::text, call.call_no, coalesce(call.step, call.call_no) AS step, call.purpose, call.model_requested, call.opened_at,
  coalesce(call.unanswered_requests, 1) AS requests,
  CASE WHEN call.closed_at IS NULL THEN call.unbilled_cost_usd::text END AS unbilled_cost_usd,
  CASE WHEN call.closed_at IS NULL THEN call.unbilled_tokens::text END AS unbilled_tokens
FROM elo_agent_model_calls AS call
JOIN elo_agent_runs AS run USING (tenant_id, task_id)
WHERE (:tenantId::uuid IS NULL OR call.tenant_id = :tenantId::uuid) AND (
  call.unanswered_requests > 0
  OR call.closed_at IS NULL AND (run.run_id <> call.run_id OR run.state <> 'running' OR run.lease_until < now())
)
ORDER BY call.opened_at DESC LIMIT 1000`);

/** One row for a tenant that there is, active or not. */
export function tenantExistsStatement(tenantId: string): Statement {
  return { text: 'SELECT id FROM elo_v_agent_tenants WHERE id = $1::uuid', values: [tenantId] };
}

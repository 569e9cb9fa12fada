import type { Statement } from '../statement';

/** What a bill is grouped by, beside the month: by model and tier where nobody asks for anything else. */
const GROUPS = {
  model: ['model_id', 'agent_tier'],
  client: ['run_client_id AS client_id'],
  dialog: ['run_dialog_id AS dialog_id'],
  user: ['run_user_id AS user_id'],
  session: ['run_session_id AS session_id'],
} as const;

export type UsageGroup = keyof typeof GROUPS;
export const USAGE_GROUPS = Object.keys(GROUPS) as readonly UsageGroup[];

/**
 * A tenant's bill by month and group, newest first. From the lines: an installation's own view knows no caches, and a
 * column that is too narrow for a line has the exact figure beside it.
 */
export function monthlyUsageStatement(tenantId: string, by: UsageGroup = 'model'): Statement {
  const shown = GROUPS[by];
  const columns = shown.map((column) => column.split(' ')[0]).join(', ');
  return {
    text: `
SELECT to_char(date_trunc('month', created_at), 'YYYY-MM') AS month, ${shown.join(', ')}, count(*)::int AS request_count,
  sum(prompt_tokens)::text AS total_prompt_tokens, sum(completion_tokens)::text AS total_completion_tokens,
  sum(total_tokens)::text AS total_tokens, coalesce(sum(cached_tokens), 0)::text AS total_cached_tokens,
  coalesce(sum(cache_write_tokens), 0)::text AS total_cache_written_tokens,
  coalesce(sum(reasoning_tokens), 0)::text AS total_reasoning_tokens,
  sum(elo_agent_line_cost(cost_usd::numeric, cost_exact))::text AS total_cost_usd,
  round(coalesce(sum(saved_exact), 0), 8)::text AS total_saved_usd
FROM elo_t_token_usage WHERE tenant_id = $1::uuid
GROUP BY date_trunc('month', created_at), ${columns}
ORDER BY date_trunc('month', created_at) DESC, ${columns}`,
    values: [tenantId],
  };
}

/**
 * Requests whose usage is unknown, never guessed: calls that a run left open when it ended or died,
 * and calls that were answered only after a request of theirs had been lost.
 */
export function unknownUsageStatement(tenantId: string): Statement {
  return {
    text: `
SELECT call.task_id, call.run_id::text, call.call_no, call.model_requested, call.opened_at,
  coalesce(call.unanswered_requests, 1) AS requests
FROM elo_agent_model_calls AS call
JOIN elo_agent_runs AS run USING (tenant_id, task_id)
WHERE call.tenant_id = $1::uuid AND (
  call.unanswered_requests > 0
  OR call.closed_at IS NULL AND (run.run_id <> call.run_id OR run.state <> 'running' OR run.lease_until < now())
)
ORDER BY call.opened_at DESC LIMIT 1000`,
    values: [tenantId],
  };
}

/** One row for a tenant that there is, active or not. */
export function tenantExistsStatement(tenantId: string): Statement {
  return { text: 'SELECT id FROM elo_v_agent_tenants WHERE id = $1::uuid', values: [tenantId] };
}

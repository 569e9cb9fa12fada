import type { Statement } from '../postgres';

/** A tenant's bill by month, model and tier, newest first. */
export function monthlyUsageStatement(tenantId: string): Statement {
  return {
    text: `
SELECT to_char(month, 'YYYY-MM') AS month, model_id, agent_tier, request_count::int AS request_count,
  total_prompt_tokens::text, total_completion_tokens::text, total_tokens::text, total_cost_usd::text
FROM elo_v_tenant_monthly_usage WHERE tenant_id = $1::uuid
ORDER BY month DESC, model_id, agent_tier`,
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

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

/** Model calls that were opened and never closed by a run that is over: their usage is unknown, never guessed. */
export function unknownUsageStatement(tenantId: string): Statement {
  return {
    text: `
SELECT call.task_id, call.run_id::text, call.call_no, call.model_requested, call.opened_at
FROM elo_agent_model_calls AS call
JOIN elo_agent_runs AS run USING (tenant_id, task_id)
WHERE call.tenant_id = $1::uuid AND call.closed_at IS NULL
  AND (run.run_id <> call.run_id OR run.state <> 'running' OR run.lease_until < now())
ORDER BY call.opened_at DESC LIMIT 1000`,
    values: [tenantId],
  };
}

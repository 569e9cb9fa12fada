import { words } from '../../util/text/words';

/**
 * Every table behind row-level security, with the columns that a role for queries may read. What is left out holds
 * secrets, addresses, free text of end users, or nothing that a question is about.
 */
export const READABLE_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  elo_t_tenants: ['id', 'name', 'slug', 'plan', 'is_active', 'created_at', 'updated_at'],
  elo_tenants: ['id', 'name', 'slug', 'plan', 'is_active', 'created_at', 'updated_at'],
  elo_agent_tools: ['id', 'code', 'name', 'description', 'transport', 'allowed_tiers', 'is_active', 'sort_order'],
  elo_t_tenant_tools: words(`
    id tenant_id tool_id is_enabled usage_limit_daily usage_count_today last_reset_date created_at
  `),
  elo_agent_tiers: ['code', 'name', 'model_id', 'max_tokens', 'temperature', 'is_free', 'rank'],
  elo_model_pricing: words(`
    model_id provider input_cost_per_1m output_cost_per_1m cached_input_cost_per_1m cache_write_cost_per_1m
    cache_write_1h_cost_per_1m reasoning_cost_per_1m
  `),
  elo_t_token_usage: words(`
    id tenant_id trace_id task_id run_id model_id agent_tier task_type prompt_tokens completion_tokens
    total_tokens cached_tokens cache_write_tokens reasoning_tokens model_calls cost_exact cost_usd
    saved_exact usage_estimated created_at
  `),
  elo_agent_runs: words(`
    tenant_id task_id run_id root_task_id parent_run_id agent trace_id state attempt created_at updated_at
  `),
  elo_agent_model_calls: words(`
    tenant_id run_id call_no step purpose task_id model_requested model_returned model_billed prompt_tokens
    completion_tokens cached_tokens cache_write_tokens cache_write_1h_tokens reasoning_tokens cost_exact
    saved_exact cost_basis usage_estimated error_code opened_at closed_at
  `),
  elo_agent_mcp_servers: ['id', 'code', 'transport', 'is_active', 'sort_order', 'created_at'],
  elo_t_tenant_mcp_servers: ['tenant_id', 'server_id', 'is_enabled', 'listed_at', 'created_at'],
  elo_t_tenant_mcp_tools: [
    'tenant_id',
    'server_id',
    'name',
    'description',
    'is_repeatable',
    'is_read_only',
    'position',
    'updated_at',
  ],
  elo_tool_executions: words('id tenant_id task_id run_id step tool decision is_error code duration_ms created_at'),
  elo_agent_monthly_usage: ['tenant_id', 'month', 'cost_usd', 'tokens'],
  elo_agents: [
    'id',
    'tenant_id',
    'name',
    'description',
    'tier',
    'model',
    'version',
    'is_active',
    'created_at',
    'updated_at',
  ],
  elo_agent_skills: words('id tenant_id name description version is_active created_at updated_at'),
  elo_agent_sessions: words('id tenant_id agent turns messages tokens cost_usd created_at updated_at'),
  elo_agent_session_messages: words(`
    session no tenant_id turn kind task_id run_id role tokens run_tokens cost_usd created_at
  `),
  elo_agent_rate_windows: [],
  elo_agent_journal: [],
  elo_agent_secrets: [],
  elo_agent_migrations: [],
};

/** The view of the monthly bill; readable where it reads with the rights of whoever asks. */
export const READABLE_VIEW = 'elo_v_tenant_monthly_usage';

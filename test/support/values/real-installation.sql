-- A database as installations have it: older than this package, with columns, a view and functions of its own.
-- The type of allowed_tiers differs between installations, hence ALLOWED_TIERS_TYPE.
CREATE TABLE elo_t_tenants (
  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  name VARCHAR(255) NOT NULL,
  slug VARCHAR(100) UNIQUE,
  domain_id INT DEFAULT 1,
  settings JSONB DEFAULT '{}',
  plan VARCHAR(50) DEFAULT 'free',
  max_operators INT DEFAULT 3,
  max_dialogs_per_month INT DEFAULT 500,
  is_active BOOLEAN DEFAULT true,
  created_at TIMESTAMPTZ DEFAULT now(),
  updated_at TIMESTAMPTZ DEFAULT now()
);
INSERT INTO elo_t_tenants (id, name, slug, settings, plan) VALUES
  ('bbbbbbbb-0000-4000-8000-000000000001', 'Battery shop', 'battery-shop',
   '{"ai_mode": "auto", "default_tier": "pro", "max_tier": "pro", "max_iterations": 5, "monthly_token_limit": 1000000,
     "working_hours": {"start": "09:00", "end": "20:00"}, "currency": "RUB", "timezone": "Europe/Moscow"}', 'starter'),
  ('bbbbbbbb-0000-4000-8000-000000000002', 'Closed shop', 'closed-shop', NULL, 'free');
UPDATE elo_t_tenants SET is_active = false WHERE slug = 'closed-shop';

CREATE TABLE elo_agent_tools (
  id SERIAL PRIMARY KEY,
  code VARCHAR(50) UNIQUE NOT NULL,
  name VARCHAR(100) NOT NULL,
  description TEXT,
  parameters_schema JSONB,
  handler_type VARCHAR(20) NOT NULL DEFAULT 'mcp',
  mcp_endpoint VARCHAR(500),
  auth_header VARCHAR(500),
  timeout_ms INT DEFAULT 30000,
  allowed_tiers ALLOWED_TIERS_TYPE,
  is_active BOOLEAN DEFAULT true,
  sort_order INT DEFAULT 0,
  created_at TIMESTAMPTZ DEFAULT now()
);
INSERT INTO elo_agent_tools (code, name, description, parameters_schema, handler_type, mcp_endpoint, sort_order) VALUES
  ('mcp_telegram', 'Telegram', 'Send a Telegram message',
   '{"type":"object","properties":{"chat_id":{"type":"string"},"text":{"type":"string"}},"required":["chat_id","text"]}',
   'mcp', 'http://mcp-telegram:8767/api/send', 10),
  ('sql_query', 'SQL', 'Run a read-only query', '{"type":"object","properties":{"query":{"type":"string"}}}',
   'sql', NULL, 20),
  ('redis_get', 'Redis', 'Read a key', NULL, 'redis', NULL, 30);
UPDATE elo_agent_tools SET allowed_tiers = ALLOWED_TIERS_VALUE WHERE code = 'sql_query';

CREATE TABLE elo_t_tenant_tools (
  id SERIAL PRIMARY KEY,
  tenant_id UUID NOT NULL REFERENCES elo_t_tenants (id) ON DELETE CASCADE,
  tool_id INT NOT NULL REFERENCES elo_agent_tools (id) ON DELETE CASCADE,
  is_enabled BOOLEAN DEFAULT true,
  custom_config JSONB DEFAULT '{}',
  usage_limit_daily INT,
  usage_count_today INT DEFAULT 0,
  last_reset_date DATE DEFAULT CURRENT_DATE,
  created_at TIMESTAMPTZ DEFAULT now(),
  updated_at TIMESTAMPTZ DEFAULT now(),
  UNIQUE (tenant_id, tool_id)
);
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, usage_limit_daily, usage_count_today)
SELECT tenant.id, tool.id, 100, 7 FROM elo_t_tenants AS tenant CROSS JOIN elo_agent_tools AS tool;

CREATE TABLE elo_agent_tiers (
  code VARCHAR(20) PRIMARY KEY,
  name VARCHAR(50) NOT NULL,
  model_id VARCHAR(100) NOT NULL,
  max_tokens INT DEFAULT 1000,
  temperature NUMERIC(3, 2) DEFAULT 0.3,
  is_free BOOLEAN DEFAULT false,
  cost NUMERIC(10, 4)
);
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature, is_free) VALUES
  ('nano', 'Nano', 'qwen/qwen3-4b:free', 500, 0.1, true),
  ('small', 'Small', 'qwen/qwen3-8b', 800, 0.2, false),
  ('optima', 'Optima', 'anthropic/claude-3-haiku', 1000, 0.3, false),
  ('pro', 'Pro', 'openai/gpt-4o-mini', 2000, 0.5, false),
  ('expert', 'Expert', 'anthropic/claude-3-5-sonnet', 4000, 0.7, false),
  ('house', 'House special', 'openai/gpt-4o-mini', 100, 0, false);

CREATE TABLE elo_model_pricing (
  id SERIAL PRIMARY KEY,
  model_id VARCHAR(100) UNIQUE NOT NULL,
  provider VARCHAR(50),
  input_cost_per_1m NUMERIC(10, 4),
  output_cost_per_1m NUMERIC(10, 4),
  updated_at TIMESTAMPTZ DEFAULT now()
);
INSERT INTO elo_model_pricing (model_id, provider, input_cost_per_1m, output_cost_per_1m) VALUES
  ('qwen/qwen3-4b:free', 'openrouter', 0, 0),
  ('qwen/qwen3-8b', 'openrouter', 0.07, 0.07),
  ('anthropic/claude-3-haiku', 'openrouter', 0.25, 1.25),
  ('openai/gpt-4o-mini', 'openrouter', 0.15, 0.60),
  ('anthropic/claude-3-5-sonnet', 'openrouter', 3, 15),
  ('someone/without-price', 'openrouter', NULL, NULL);

CREATE TABLE elo_t_token_usage (
  id BIGSERIAL PRIMARY KEY,
  tenant_id UUID NOT NULL REFERENCES elo_t_tenants (id),
  trace_id VARCHAR(100),
  task_id VARCHAR(200),
  model_id VARCHAR(100) NOT NULL,
  agent_tier VARCHAR(20),
  context_type_code VARCHAR(50),
  prompt_tokens INT NOT NULL DEFAULT 0,
  completion_tokens INT NOT NULL DEFAULT 0,
  total_tokens INT NOT NULL DEFAULT 0,
  cost_usd DECIMAL(12, 8) DEFAULT 0,
  task_type VARCHAR(50),
  created_at TIMESTAMPTZ DEFAULT now()
);
-- The old worker billed a task once for each delivery.
INSERT INTO elo_t_token_usage (tenant_id, trace_id, task_id, model_id, agent_tier, context_type_code,
  prompt_tokens, completion_tokens, total_tokens, cost_usd, task_type, created_at)
SELECT 'bbbbbbbb-0000-4000-8000-000000000001', 'trace-' || n, 'task-' || n % 3, 'openai/gpt-4o-mini', 'pro', 'intake',
  1000, 100, 1100, 0.00021000, 'llm_extraction', timestamptz '2024-12-15 12:00+00' + n * interval '1 hour'
FROM generate_series(1, 9) AS n;
INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id) VALUES
  ('bbbbbbbb-0000-4000-8000-000000000001', NULL, 'openai/gpt-4o-mini');

CREATE VIEW elo_v_tenant_monthly_usage AS
SELECT tenant_id, date_trunc('month', created_at) AS month, model_id, agent_tier,
  count(*) AS request_count,
  sum(prompt_tokens) AS total_prompt_tokens,
  sum(completion_tokens) AS total_completion_tokens,
  sum(total_tokens) AS total_tokens,
  sum(cost_usd) AS total_cost_usd
FROM elo_t_token_usage
GROUP BY tenant_id, date_trunc('month', created_at), model_id, agent_tier;

CREATE FUNCTION elo_reset_daily_tool_usage() RETURNS void LANGUAGE sql AS $$
  UPDATE elo_t_tenant_tools SET usage_count_today = 0, last_reset_date = CURRENT_DATE
  WHERE last_reset_date < CURRENT_DATE
$$;

CREATE FUNCTION elo_check_tool_access(p_tenant_id UUID, p_tool_code VARCHAR)
RETURNS TABLE (allowed BOOLEAN, reason VARCHAR, out_tool_id INT) LANGUAGE sql AS $$
  SELECT own.is_enabled AND (own.usage_limit_daily IS NULL OR own.usage_count_today < own.usage_limit_daily),
    CASE WHEN NOT own.is_enabled THEN 'tool_disabled'
      WHEN own.usage_count_today >= own.usage_limit_daily THEN 'daily_limit_exceeded' ELSE 'ok' END,
    tool.id
  FROM elo_agent_tools AS tool
  JOIN elo_t_tenant_tools AS own ON own.tool_id = tool.id AND own.tenant_id = p_tenant_id
  WHERE tool.code = p_tool_code AND tool.is_active
$$;

-- The ledger: one line a task in elo_t_token_usage, who may run a task in elo_agent_runs, each call in elo_agent_model_calls.

CREATE TABLE IF NOT EXISTS elo_t_token_usage (
  id BIGSERIAL PRIMARY KEY,
  tenant_id UUID NOT NULL,
  trace_id VARCHAR(100),
  task_id VARCHAR(200),
  model_id VARCHAR(100) NOT NULL,
  agent_tier VARCHAR(20),
  prompt_tokens INT NOT NULL DEFAULT 0,
  completion_tokens INT NOT NULL DEFAULT 0,
  total_tokens INT NOT NULL DEFAULT 0,
  cost_usd DECIMAL(12, 8) NOT NULL DEFAULT 0,
  task_type VARCHAR(50),
  created_at TIMESTAMPTZ DEFAULT now()
);
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS task_type VARCHAR(50);
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS created_at TIMESTAMPTZ DEFAULT now();
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cached_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS reasoning_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS model_calls INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cost_exact NUMERIC;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS provider_cost_usd NUMERIC;
-- Rows of other writers have no run_id: they may repeat a task id and stay outside the rule.
CREATE UNIQUE INDEX IF NOT EXISTS elo_t_token_usage_task ON elo_t_token_usage (tenant_id, task_id) WHERE run_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS elo_t_token_usage_tenant_month ON elo_t_token_usage (tenant_id, created_at);

CREATE TABLE IF NOT EXISTS elo_agent_runs (
  tenant_id UUID NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  run_id UUID NOT NULL,
  trace_id VARCHAR(100),
  digest CHAR(64) NOT NULL,
  state VARCHAR(10) NOT NULL CHECK (state IN ('running', 'done', 'failed')),
  attempt INT NOT NULL,
  lease_until TIMESTAMPTZ,
  -- JSON, not JSONB: an answer may hold \u0000, which JSONB refuses.
  result JSON,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX IF NOT EXISTS elo_agent_runs_updated ON elo_agent_runs (updated_at);

CREATE TABLE IF NOT EXISTS elo_agent_model_calls (
  tenant_id UUID NOT NULL,
  run_id UUID NOT NULL,
  call_no INT NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  model_requested TEXT NOT NULL,
  model_returned TEXT,
  model_billed TEXT,
  provider_request_id TEXT,
  prompt_tokens BIGINT,
  completion_tokens BIGINT,
  cached_tokens BIGINT,
  reasoning_tokens BIGINT,
  cost_exact NUMERIC,
  provider_cost_usd NUMERIC,
  unanswered_requests INT,
  error_code VARCHAR(50),
  opened_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  closed_at TIMESTAMPTZ,
  PRIMARY KEY (tenant_id, run_id, call_no),
  FOREIGN KEY (tenant_id, task_id) REFERENCES elo_agent_runs (tenant_id, task_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS elo_agent_model_calls_task ON elo_agent_model_calls (tenant_id, task_id);

DO $$
BEGIN
  IF to_regclass('elo_v_tenant_monthly_usage') IS NULL THEN
    CREATE VIEW elo_v_tenant_monthly_usage AS
    SELECT tenant_id, date_trunc('month', created_at) AS month, model_id, agent_tier,
      count(*) AS request_count,
      sum(prompt_tokens) AS total_prompt_tokens,
      sum(completion_tokens) AS total_completion_tokens,
      sum(total_tokens) AS total_tokens,
      sum(cost_usd) AS total_cost_usd
    FROM elo_t_token_usage
    GROUP BY tenant_id, date_trunc('month', created_at), model_id, agent_tier;
  END IF;
END $$;

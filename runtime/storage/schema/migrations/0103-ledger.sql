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
  cost_usd DECIMAL(20, 8) NOT NULL DEFAULT 0,
  task_type VARCHAR(50),
  created_at TIMESTAMPTZ DEFAULT now()
);
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS task_type VARCHAR(50);
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS created_at TIMESTAMPTZ DEFAULT now();
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cached_tokens INT;
-- Of either kind.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cache_write_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS reasoning_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS model_calls INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cost_exact NUMERIC;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS saved_exact NUMERIC;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS provider_cost_usd NUMERIC;
-- True where usage was estimated, in whole or in part, since the provider reported none; NULL in rows of before.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS usage_estimated BOOLEAN;
-- Who a run was for, as the meta of its task said it. The table may be another program's, with columns of the plain names.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_client_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_dialog_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_user_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_session_id TEXT;
-- Rows of other writers have no run_id: they may repeat a task id and stay outside the rule.
CREATE UNIQUE INDEX IF NOT EXISTS elo_t_token_usage_task ON elo_t_token_usage (tenant_id, task_id) WHERE run_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS elo_t_token_usage_tenant_month ON elo_t_token_usage (tenant_id, created_at);

CREATE TABLE IF NOT EXISTS elo_agent_runs (
  tenant_id UUID NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  run_id UUID NOT NULL,
  trace_id VARCHAR(100),
  -- A run that works for another one: which task is the root, and which call of which run it answers.
  root_task_id VARCHAR(200),
  parent_run_id UUID,
  parent_call_id TEXT,
  client_id TEXT,
  dialog_id TEXT,
  user_id TEXT,
  session_id TEXT,
  digest CHAR(64) NOT NULL,
  state VARCHAR(10) NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed')),
  attempt INT NOT NULL,
  lease_until TIMESTAMPTZ,
  -- In force while the run is running and its lease holds, so a dead run's hold ends by itself.
  held_cost_usd NUMERIC,
  held_tokens BIGINT,
  -- JSON, not JSONB: an answer may hold \u0000, which JSONB refuses.
  result JSON,
  -- What a run that waits for an approval goes on with.
  resume JSON,
  -- The run that waited, of which this one went on.
  resumed_run_id UUID,
  -- What a person decided on the call that run decided_run_id waited with, who it was, and when.
  decided_run_id UUID,
  decision TEXT,
  decided_by TEXT,
  decided_at TIMESTAMPTZ,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX IF NOT EXISTS elo_agent_runs_root ON elo_agent_runs (tenant_id, root_task_id) WHERE root_task_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS elo_agent_runs_resumed ON elo_agent_runs (tenant_id, resumed_run_id) WHERE resumed_run_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS elo_agent_runs_running ON elo_agent_runs (tenant_id) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS elo_agent_runs_waiting ON elo_agent_runs (tenant_id, run_id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS elo_agent_runs_updated ON elo_agent_runs (updated_at);

CREATE TABLE IF NOT EXISTS elo_agent_model_calls (
  tenant_id UUID NOT NULL,
  run_id UUID NOT NULL,
  -- Counts the model calls of a run, whatever they are for.
  call_no INT NOT NULL,
  -- NULL: as call_no, in rows of before.
  step INT,
  purpose VARCHAR(20) NOT NULL DEFAULT 'step',
  task_id VARCHAR(200) NOT NULL,
  model_requested TEXT NOT NULL,
  model_returned TEXT,
  model_billed TEXT,
  provider_request_id TEXT,
  prompt_tokens BIGINT,
  completion_tokens BIGINT,
  cached_tokens BIGINT,
  cache_write_tokens BIGINT,
  cache_write_1h_tokens BIGINT,
  reasoning_tokens BIGINT,
  -- True where usage was estimated, in whole or in part, since the provider reported none; NULL in rows of before.
  usage_estimated BOOLEAN,
  cost_exact NUMERIC,
  saved_exact NUMERIC,
  -- NULL: the tokens at our price. 'provider': the provider's own figure, in whole or in part, since its tokens could not be
  -- relied upon.
  cost_basis TEXT,
  provider_cost_usd NUMERIC,
  unanswered_requests INT,
  -- What a call has used that the bill did not take. It counts in the month of unbilled_at as long as the call is open, so that
  -- a budget stays shut while no line can be written. The line that is written at last closes the call.
  unbilled_at TIMESTAMPTZ,
  unbilled_cost_usd NUMERIC,
  unbilled_tokens BIGINT,
  error_code VARCHAR(50),
  opened_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  closed_at TIMESTAMPTZ,
  PRIMARY KEY (tenant_id, run_id, call_no),
  FOREIGN KEY (tenant_id, task_id) REFERENCES elo_agent_runs (tenant_id, task_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS elo_agent_model_calls_task ON elo_agent_model_calls (tenant_id, task_id);
CREATE INDEX IF NOT EXISTS elo_agent_model_calls_unbilled ON elo_agent_model_calls (tenant_id)
  WHERE unbilled_at IS NOT NULL AND closed_at IS NULL;

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

-- The step journal: what a run has done, for the run that goes on when it is lost or has failed.
CREATE TABLE IF NOT EXISTS elo_agent_journal (
  tenant_id UUID NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  -- The number of the model call.
  step INT NOT NULL,
  -- Empty for what the model asked for, else the id of the tool call that ended.
  entry TEXT NOT NULL,
  run_id UUID NOT NULL,
  -- The places of the calls that may have been sent.
  sent INT[] NOT NULL DEFAULT '{}',
  -- JSON, sealed where there is a vault key. TEXT, since JSON is not looked into here and may hold \u0000.
  content TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id, step, entry),
  FOREIGN KEY (tenant_id, task_id) REFERENCES elo_agent_runs (tenant_id, task_id) ON DELETE CASCADE
);

-- Limits: what a month has cost, what a tool call counts for, and what every call was.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_tool_executions (
      id BIGSERIAL PRIMARY KEY,
      tenant_id UUID NOT NULL REFERENCES %1$I (id) ON DELETE CASCADE,
      task_id VARCHAR(200) NOT NULL,
      run_id UUID NOT NULL,
      step INT NOT NULL,
      tool_call_id TEXT NOT NULL,
      tool VARCHAR(200) NOT NULL,
      client_id TEXT,
      dialog_id TEXT,
      user_id TEXT,
      session_id TEXT,
      -- Redacted.
      arguments JSONB,
      decision VARCHAR(10) NOT NULL CHECK (decision IN ('allow', 'deny', 'ask')),
      decided_by TEXT,
      is_error BOOLEAN NOT NULL,
      code VARCHAR(50),
      duration_ms INT NOT NULL,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      UNIQUE (tenant_id, run_id, tool_call_id)
    );
    CREATE TABLE IF NOT EXISTS elo_agent_rate_windows (
      tenant_id UUID NOT NULL REFERENCES %1$I (id) ON DELETE CASCADE,
      scope TEXT NOT NULL,
      seconds INT NOT NULL,
      started_at TIMESTAMPTZ NOT NULL,
      used INT NOT NULL,
      PRIMARY KEY (tenant_id, scope, seconds)
    );
    -- Several rows for a month, which are summed: writers at the same time each have one, so that none waits for another.
    CREATE TABLE IF NOT EXISTS elo_agent_monthly_usage (
      id BIGSERIAL PRIMARY KEY,
      tenant_id UUID NOT NULL REFERENCES %1$I (id) ON DELETE CASCADE,
      -- The first day, in UTC.
      month DATE NOT NULL,
      cost_usd NUMERIC NOT NULL,
      tokens BIGINT NOT NULL
    );
  $table$, tenants);
END $$;
CREATE INDEX IF NOT EXISTS elo_tool_executions_tenant ON elo_tool_executions (tenant_id, created_at);
CREATE INDEX IF NOT EXISTS elo_tool_executions_created ON elo_tool_executions (created_at);
CREATE INDEX IF NOT EXISTS elo_agent_monthly_usage_month ON elo_agent_monthly_usage (tenant_id, month);

-- DECIMAL(12, 8) ends at $9,999.99999999. A table that is the documents' and nobody else's is widened; another one is its
-- installation's, and `diagnostics schema` tells how. So it does where something of others hangs on the column.
DO $$
DECLARE
  monthly RECORD;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_attribute AS attribute
    WHERE attribute.attrelid = to_regclass('elo_t_token_usage') AND attribute.attname = 'cost_usd' AND attribute.attnotnull
      AND format_type(attribute.atttypid, attribute.atttypmod) = 'numeric(12,8)'
  ) OR EXISTS (
    SELECT FROM pg_attribute AS attribute
    WHERE attribute.attrelid = to_regclass('elo_t_token_usage') AND attribute.attnum > 0 AND NOT attribute.attisdropped
      AND attribute.attname NOT IN (
        'id', 'tenant_id', 'trace_id', 'task_id', 'model_id', 'agent_tier', 'prompt_tokens', 'completion_tokens', 'total_tokens',
        'cost_usd', 'task_type', 'created_at', 'run_id', 'cached_tokens', 'reasoning_tokens', 'model_calls', 'cost_exact',
        'provider_cost_usd', 'cache_write_tokens', 'saved_exact', 'usage_estimated', 'run_client_id', 'run_dialog_id',
        'run_user_id', 'run_session_id'
      )
  ) THEN RETURN; END IF;
  SELECT pg_get_viewdef(class.oid) AS text, array_to_string(class.reloptions, ', ') AS options INTO monthly
  FROM pg_class AS class WHERE class.oid = to_regclass('elo_v_tenant_monthly_usage') AND class.relkind = 'v';
  -- For a moment the view does not read the column. Dropped and made anew, it would lose what was granted on it.
  IF monthly.text IS NOT NULL THEN
    CREATE OR REPLACE VIEW elo_v_tenant_monthly_usage AS
    SELECT tenant_id, date_trunc('month', created_at) AS month, model_id, agent_tier, count(*) AS request_count,
      sum(prompt_tokens) AS total_prompt_tokens, sum(completion_tokens) AS total_completion_tokens,
      sum(total_tokens) AS total_tokens, NULL::numeric AS total_cost_usd
    FROM elo_t_token_usage GROUP BY tenant_id, date_trunc('month', created_at), model_id, agent_tier;
  END IF;
  ALTER TABLE elo_t_token_usage ALTER COLUMN cost_usd TYPE DECIMAL(20, 8);
  IF monthly.text IS NOT NULL THEN
    EXECUTE 'CREATE OR REPLACE VIEW elo_v_tenant_monthly_usage AS ' || monthly.text;
    IF monthly.options <> '' THEN EXECUTE format('ALTER VIEW elo_v_tenant_monthly_usage SET (%s)', monthly.options); END IF;
  END IF;
EXCEPTION WHEN feature_not_supported OR invalid_table_definition OR insufficient_privilege OR wrong_object_type THEN
  RAISE NOTICE 'elo_t_token_usage.cost_usd was not widened: %', SQLERRM;
END $$;

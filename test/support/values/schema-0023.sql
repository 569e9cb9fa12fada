-- Creates what is missing and leaves what is there. Both the documents' schema and the real installation's are adopted.

-- Tenants: the real installation's table. The documents refer to elo_tenants instead; where that one exists, it is used.
DO $$
BEGIN
  IF to_regclass('elo_t_tenants') IS NULL AND to_regclass('elo_tenants') IS NULL THEN
    CREATE TABLE elo_t_tenants (
      id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
      name VARCHAR(255) NOT NULL,
      slug VARCHAR(100) UNIQUE,
      settings JSONB NOT NULL DEFAULT '{}',
      plan VARCHAR(50),
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    );
  END IF;
END $$;

-- One name for either table. Through to_jsonb, columns that an old table lacks read as their defaults.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($view$
    CREATE OR REPLACE VIEW elo_v_agent_tenants AS
    SELECT tenant.id,
      coalesce(to_jsonb(tenant) ->> 'name', tenant.id::text) AS name,
      coalesce((to_jsonb(tenant) ->> 'is_active')::boolean, true) AS is_active,
      to_jsonb(tenant) -> 'settings' AS settings
    FROM %I AS tenant
  $view$, tenants);
END $$;

CREATE TABLE IF NOT EXISTS elo_agent_tools (
  id SERIAL PRIMARY KEY,
  code VARCHAR(50) UNIQUE NOT NULL,
  name VARCHAR(100) NOT NULL,
  description TEXT,
  parameters_schema JSONB,
  mcp_endpoint VARCHAR(500),
  auth_header VARCHAR(500),
  timeout_ms INT DEFAULT 30000,
  is_active BOOLEAN DEFAULT true,
  sort_order INT DEFAULT 0
);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS transport VARCHAR(20) NOT NULL DEFAULT 'hook';
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS mcp_tool VARCHAR(200);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS allowed_tiers TEXT[];
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS auth_header VARCHAR(500);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS timeout_ms INT DEFAULT 30000;
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS is_active BOOLEAN DEFAULT true;
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS sort_order INT DEFAULT 0;

DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  IF to_regclass('elo_t_tenant_tools') IS NULL THEN
    EXECUTE format($table$
      CREATE TABLE elo_t_tenant_tools (
        id SERIAL PRIMARY KEY,
        tenant_id UUID NOT NULL REFERENCES %I (id) ON DELETE CASCADE,
        tool_id INT NOT NULL REFERENCES elo_agent_tools (id) ON DELETE CASCADE,
        is_enabled BOOLEAN DEFAULT true,
        custom_config JSONB,
        created_at TIMESTAMPTZ DEFAULT now(),
        UNIQUE (tenant_id, tool_id)
      )
    $table$, tenants);
  END IF;
END $$;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS is_enabled BOOLEAN DEFAULT true;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS custom_config JSONB;

-- Tiers are data. The rows are written only into a table that we made; an adopted table keeps its own.
DO $$
BEGIN
  IF to_regclass('elo_agent_tiers') IS NULL THEN
    CREATE TABLE elo_agent_tiers (
      code VARCHAR(20) PRIMARY KEY,
      name VARCHAR(100) NOT NULL,
      model_id VARCHAR(100) NOT NULL,
      max_tokens INT,
      temperature NUMERIC(3, 2),
      is_free BOOLEAN NOT NULL DEFAULT false
    );
    INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature, is_free) VALUES
      ('nano', 'Nano', 'qwen/qwen3-4b:free', 500, 0.1, true),
      ('small', 'Small', 'qwen/qwen3-8b', 800, 0.2, false),
      ('optima', 'Optima', 'anthropic/claude-3-haiku', 1000, 0.3, false),
      ('pro', 'Pro', 'openai/gpt-4o-mini', 2000, 0.5, false),
      ('expert', 'Expert', 'anthropic/claude-3-5-sonnet', 4000, 0.7, false);
  END IF;
END $$;
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS name VARCHAR(100);
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS max_tokens INT;
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS temperature NUMERIC(3, 2);
-- The order of the tiers, for a tenant's max_tier. A tier without a rank is above every limit.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS rank INT;
UPDATE elo_agent_tiers AS tier SET rank = known.rank
FROM (VALUES ('nano', 1), ('small', 2), ('optima', 3), ('pro', 4), ('expert', 5)) AS known (code, rank)
WHERE tier.code = known.code AND tier.rank IS NULL;

DO $$
BEGIN
  IF to_regclass('elo_model_pricing') IS NULL THEN
    CREATE TABLE elo_model_pricing (
      model_id VARCHAR(100) PRIMARY KEY,
      provider VARCHAR(50),
      input_cost_per_1m NUMERIC NOT NULL,
      output_cost_per_1m NUMERIC NOT NULL
    );
    INSERT INTO elo_model_pricing (model_id, provider, input_cost_per_1m, output_cost_per_1m) VALUES
      ('qwen/qwen3-4b:free', 'openrouter', 0, 0),
      ('qwen/qwen3-8b', 'openrouter', 0.07, 0.07),
      ('anthropic/claude-3-haiku', 'openrouter', 0.25, 1.25),
      ('openai/gpt-4o-mini', 'openrouter', 0.15, 0.60),
      ('anthropic/claude-3-5-sonnet', 'openrouter', 3, 15);
  END IF;
END $$;
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
-- MCP: servers are registered once, tenants use them with a credential of their own, and what they offer is remembered.

CREATE TABLE IF NOT EXISTS elo_agent_mcp_servers (
  id SERIAL PRIMARY KEY,
  -- Stands before the names of its tools.
  code VARCHAR(50) UNIQUE NOT NULL,
  -- For the transport stdio: the command line, as a JSON array of its words.
  url VARCHAR(2000) NOT NULL,
  transport VARCHAR(20) NOT NULL DEFAULT 'http',
  -- The credential of tenants that have none of their own.
  auth JSONB NOT NULL DEFAULT '{"kind": "none"}',
  include_tools TEXT[],
  exclude_tools TEXT[] NOT NULL DEFAULT '{}',
  -- What a changed or new tool gets: 'accept', or 'quarantine' until it is approved.
  on_tool_change VARCHAR(20) NOT NULL DEFAULT 'accept' CHECK (on_tool_change IN ('accept', 'quarantine')),
  allowed_tiers TEXT[],
  settings JSONB NOT NULL DEFAULT '{}',
  is_active BOOLEAN NOT NULL DEFAULT true,
  sort_order INT NOT NULL DEFAULT 0,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_t_tenant_mcp_servers (
      tenant_id UUID NOT NULL REFERENCES %I (id) ON DELETE CASCADE,
      server_id INT NOT NULL REFERENCES elo_agent_mcp_servers (id) ON DELETE CASCADE,
      is_enabled BOOLEAN NOT NULL DEFAULT true,
      auth JSONB,
      -- The OAuth tokens, encrypted for this tenant and server.
      oauth_state TEXT,
      listed_at TIMESTAMPTZ,
      list_expires_at TIMESTAMPTZ,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      PRIMARY KEY (tenant_id, server_id)
    )
  $table$, tenants);
END $$;

CREATE TABLE IF NOT EXISTS elo_t_tenant_mcp_tools (
  tenant_id UUID NOT NULL,
  server_id INT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  -- JSON, not JSONB: the schema goes to the model as the server wrote it.
  input_schema JSON NOT NULL,
  is_repeatable BOOLEAN NOT NULL,
  hash CHAR(64) NOT NULL,
  approved_hash CHAR(64),
  -- Its place in the server's list; NULL when the server no longer has it. The approval outlives that.
  position INT,
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, server_id, name),
  FOREIGN KEY (tenant_id, server_id) REFERENCES elo_t_tenant_mcp_servers (tenant_id, server_id) ON DELETE CASCADE
);
-- Permissions and budgets: what a tool call needs at its turn, what a month has cost, and what every call was.

-- Rules of a tier for every tenant, in the shape of tool_config.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS tool_config JSONB;

ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS usage_limit_daily INT;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS usage_count_today INT DEFAULT 0;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS last_reset_date DATE DEFAULT CURRENT_DATE;

ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS user_id TEXT;
-- The hold of a run is in force while it is running and its lease holds, so a dead run's hold ends by itself.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS held_cost_usd NUMERIC;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS held_tokens BIGINT;
-- What a run that waits for an approval goes on with. JSON, not JSONB: as for result.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS resume JSON;
-- The run that waited, of which this one went on.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS resumed_run_id UUID;
CREATE INDEX IF NOT EXISTS elo_agent_runs_resumed ON elo_agent_runs (tenant_id, resumed_run_id) WHERE resumed_run_id IS NOT NULL;
ALTER TABLE elo_agent_runs DROP CONSTRAINT IF EXISTS elo_agent_runs_state_check;
ALTER TABLE elo_agent_runs ADD CONSTRAINT elo_agent_runs_state_check
  CHECK (state IN ('running', 'waiting', 'done', 'failed'));
CREATE INDEX IF NOT EXISTS elo_agent_runs_running ON elo_agent_runs (tenant_id) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS elo_agent_runs_waiting ON elo_agent_runs (tenant_id, run_id) WHERE state = 'waiting';

CREATE OR REPLACE FUNCTION elo_agent_forget_tenant() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM elo_t_token_usage WHERE tenant_id = OLD.id AND run_id IS NOT NULL;
  RETURN OLD;
END $$;

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
      user_id TEXT,
      -- Redacted.
      arguments JSONB,
      decision VARCHAR(10) NOT NULL CHECK (decision IN ('allow', 'deny', 'ask')),
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
  -- Runs of tenants that are long gone may be there; they are left alone.
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'elo_agent_runs_tenant') THEN
    EXECUTE format('ALTER TABLE elo_agent_runs ADD CONSTRAINT elo_agent_runs_tenant
      FOREIGN KEY (tenant_id) REFERENCES %I (id) ON DELETE CASCADE NOT VALID', tenants);
  END IF;
  -- The bills may be written by others, for tenants that we do not know, so a deleted tenant takes our lines only.
  EXECUTE format('DROP TRIGGER IF EXISTS elo_agent_forget_tenant ON %I', tenants);
  EXECUTE format('CREATE TRIGGER elo_agent_forget_tenant BEFORE DELETE ON %I
    FOR EACH ROW EXECUTE FUNCTION elo_agent_forget_tenant()', tenants);
END $$;
CREATE INDEX IF NOT EXISTS elo_tool_executions_tenant ON elo_tool_executions (tenant_id, created_at);
CREATE INDEX IF NOT EXISTS elo_tool_executions_created ON elo_tool_executions (created_at);
CREATE INDEX IF NOT EXISTS elo_agent_monthly_usage_month ON elo_agent_monthly_usage (tenant_id, month);

-- Adds to a month on a row that no other transaction holds. A transaction that reads a state of before can only change rows
-- of its own: any other may have changed since, and the insert of its program would fail.
CREATE OR REPLACE FUNCTION elo_agent_add_usage(p_tenant UUID, p_month DATE, p_cost NUMERIC, p_tokens BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  UPDATE elo_agent_monthly_usage SET cost_usd = cost_usd + p_cost, tokens = tokens + p_tokens
  WHERE id = (
    SELECT id FROM elo_agent_monthly_usage AS free
    WHERE free.tenant_id = p_tenant AND free.month = p_month AND (
      current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
      OR free.xmin::text = (txid_current() & 4294967295)::text
    )
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
  );
  IF FOUND THEN RETURN; END IF;
  INSERT INTO elo_agent_monthly_usage (tenant_id, month, cost_usd, tokens)
  SELECT p_tenant, p_month, p_cost, p_tokens
  WHERE EXISTS (SELECT FROM elo_v_agent_tenants AS tenant WHERE tenant.id = p_tenant);
END $$;
REVOKE EXECUTE ON FUNCTION elo_agent_add_usage(UUID, DATE, NUMERIC, BIGINT) FROM PUBLIC;

-- The month's sum is kept by the table itself, so that lines of other writers count too and no run has to add up a month.
-- A task has one line, in the month of its first run; what it uses in a later month counts in that one.
CREATE OR REPLACE FUNCTION elo_agent_count_usage() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  this_month DATE := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
  old_month DATE;
  new_month DATE;
  old_cost NUMERIC := 0;
  new_cost NUMERIC := 0;
  old_tokens BIGINT := 0;
  new_tokens BIGINT := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM elo_agent_monthly_usage;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    old_month := date_trunc('month', coalesce(OLD.created_at, now()) AT TIME ZONE 'UTC')::date;
    old_cost := coalesce(nullif(OLD.cost_usd::numeric, 'NaN'), 0);
    old_tokens := coalesce(OLD.total_tokens, 0);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    new_month := date_trunc('month', coalesce(NEW.created_at, now()) AT TIME ZONE 'UTC')::date;
    new_cost := coalesce(nullif(NEW.cost_usd::numeric, 'NaN'), 0);
    new_tokens := coalesce(NEW.total_tokens, 0);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.tenant_id = OLD.tenant_id AND new_month = old_month THEN
    IF NEW.run_id IS NOT NULL AND new_cost >= old_cost AND new_tokens >= old_tokens THEN new_month := this_month; END IF;
    PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost - old_cost, new_tokens - old_tokens);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM elo_agent_add_usage(OLD.tenant_id, old_month, -old_cost, -old_tokens); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost, new_tokens); END IF;
  RETURN NULL;
END $$;

LOCK TABLE elo_t_token_usage IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM elo_agent_monthly_usage;
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($sum$
    INSERT INTO elo_agent_monthly_usage (tenant_id, month, cost_usd, tokens)
    SELECT line.tenant_id, date_trunc('month', coalesce(line.created_at, now()) AT TIME ZONE 'UTC')::date,
      sum(coalesce(nullif(line.cost_usd::numeric, 'NaN'), 0)), sum(coalesce(line.total_tokens, 0))
    FROM elo_t_token_usage AS line JOIN %I AS tenant ON tenant.id = line.tenant_id
    GROUP BY 1, 2
  $sum$, tenants);
END $$;
DROP TRIGGER IF EXISTS elo_agent_count_usage ON elo_t_token_usage;
CREATE TRIGGER elo_agent_count_usage AFTER INSERT OR UPDATE OR DELETE ON elo_t_token_usage
  FOR EACH ROW EXECUTE FUNCTION elo_agent_count_usage();
DROP TRIGGER IF EXISTS elo_agent_forget_usage ON elo_t_token_usage;
CREATE TRIGGER elo_agent_forget_usage AFTER TRUNCATE ON elo_t_token_usage
  FOR EACH STATEMENT EXECUTE FUNCTION elo_agent_count_usage();

-- Changes with everything that decides which tools a tenant may call.
CREATE OR REPLACE FUNCTION elo_agent_policy_version(p_tenant UUID) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT md5(concat_ws('|',
    tenant.is_active, tenant.settings::text,
    (
      SELECT string_agg(ROW(tool.code, own.is_enabled, tool.is_active, tool.allowed_tiers, own.custom_config)::text, ',' ORDER BY tool.id)
      FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(server.code, own.is_enabled, server.is_active, server.allowed_tiers, server.include_tools, server.exclude_tools)::text, ',' ORDER BY server.id)
      FROM elo_t_tenant_mcp_servers AS own JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(tool.server_id, tool.name)::text, ',' ORDER BY tool.server_id, tool.name) FROM elo_t_tenant_mcp_tools AS tool
      WHERE tool.tenant_id = tenant.id AND tool.position IS NOT NULL AND tool.approved_hash IS DISTINCT FROM tool.hash
    ),
    (SELECT string_agg(ROW(tier.code, tier.tool_config)::text, ',' ORDER BY tier.code) FROM elo_agent_tiers AS tier)
  ))
  FROM elo_v_agent_tenants AS tenant WHERE tenant.id = p_tenant
$$;

-- Takes one call of a tool off its limits, or says why not; a refused call takes nothing. `p_code` is NULL for tools that
-- are in no catalogue. An installation's own elo_check_tool_access is asked too, and may count for itself.
CREATE OR REPLACE FUNCTION elo_agent_take_call(p_tenant UUID, p_code TEXT, p_scope TEXT, p_per_minute INT, p_per_day INT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  own RECORD;
  verdict RECORD;
  counted INT;
  span RECORD;
BEGIN
  IF p_code IS NOT NULL THEN
    SELECT link.tenant_id, link.tool_id, link.is_enabled, link.usage_limit_daily, tool.is_active,
      CASE WHEN link.last_reset_date < CURRENT_DATE THEN 0 ELSE coalesce(link.usage_count_today, 0) END AS used
    INTO own
    FROM elo_t_tenant_tools AS link JOIN elo_agent_tools AS tool ON tool.id = link.tool_id
    WHERE link.tenant_id = p_tenant AND tool.code = p_code
    FOR UPDATE OF link;
    IF NOT FOUND OR NOT own.is_enabled OR NOT own.is_active THEN RETURN 'tool_disabled'; END IF;
    IF own.usage_limit_daily IS NOT NULL AND own.used >= own.usage_limit_daily THEN RETURN 'daily_limit_exceeded'; END IF;
  END IF;
  FOR span IN SELECT * FROM (VALUES (60, p_per_minute), (86400, p_per_day)) AS spans (seconds, calls) WHERE calls IS NOT NULL LOOP
    INSERT INTO elo_agent_rate_windows AS used (tenant_id, scope, seconds, started_at, used)
    SELECT p_tenant, p_scope, span.seconds, clock_timestamp(), 1 WHERE span.calls > 0
    ON CONFLICT (tenant_id, scope, seconds) DO UPDATE SET
      started_at = CASE WHEN used.started_at + used.seconds * interval '1 second' <= clock_timestamp() THEN clock_timestamp() ELSE used.started_at END,
      used = CASE WHEN used.started_at + used.seconds * interval '1 second' <= clock_timestamp() THEN 1 ELSE used.used + 1 END
    WHERE used.used < span.calls OR used.started_at + used.seconds * interval '1 second' <= clock_timestamp();
    IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = 'UA001', MESSAGE = CASE span.seconds WHEN 60 THEN 'minute_limit_exceeded' ELSE 'day_limit_exceeded' END; END IF;
  END LOOP;
  IF p_code IS NOT NULL THEN
    IF to_regprocedure('elo_check_tool_access(uuid, character varying)') IS NOT NULL THEN
      EXECUTE 'SELECT allowed, reason FROM elo_check_tool_access($1, $2::varchar)' INTO verdict USING p_tenant, p_code;
      IF verdict.allowed IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'UA001', MESSAGE = coalesce(verdict.reason, 'tool_not_allowed'); END IF;
    END IF;
    IF own.usage_limit_daily IS NOT NULL THEN
      SELECT CASE WHEN link.last_reset_date < CURRENT_DATE THEN 0 ELSE coalesce(link.usage_count_today, 0) END INTO counted
      FROM elo_t_tenant_tools AS link WHERE link.tenant_id = p_tenant AND link.tool_id = own.tool_id;
      IF counted = own.used THEN
        UPDATE elo_t_tenant_tools SET usage_count_today = own.used + 1, last_reset_date = CURRENT_DATE
        WHERE tenant_id = p_tenant AND tool_id = own.tool_id;
      END IF;
    END IF;
  END IF;
  RETURN NULL;
EXCEPTION WHEN SQLSTATE 'UA001' THEN
  RETURN SQLERRM;
END $$;

-- Whether the month has room for another model call: 'ok', 'held' while holds of other runs take the rest, 'exceeded'.
-- One caller of a tenant at a time until its transaction ends. What is spent and what is held are read as of one moment, since
-- a run that ends between the two would be in neither.
CREATE OR REPLACE FUNCTION elo_agent_reserve(
  p_tenant UUID, p_run UUID, p_cost_limit NUMERIC, p_token_limit NUMERIC, p_adding_cost NUMERIC, p_adding_tokens NUMERIC
) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  spent_cost NUMERIC;
  spent_tokens NUMERIC;
  held_cost NUMERIC;
  held_tokens NUMERIC;
BEGIN
  IF p_cost_limit IS NULL AND p_token_limit IS NULL THEN RETURN 'ok'; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || p_tenant, 0));
  SELECT spent.cost + p_adding_cost, spent.tokens + p_adding_tokens, held.cost, held.tokens
  INTO spent_cost, spent_tokens, held_cost, held_tokens
  FROM (
    SELECT coalesce(sum(cost_usd), 0) AS cost, coalesce(sum(tokens), 0) AS tokens FROM elo_agent_monthly_usage
    WHERE tenant_id = p_tenant AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  ) AS spent, (
    SELECT coalesce(sum(run.held_cost_usd), 0) AS cost, coalesce(sum(run.held_tokens), 0) AS tokens FROM elo_agent_runs AS run
    WHERE run.tenant_id = p_tenant AND run.run_id <> p_run AND run.state = 'running' AND run.lease_until > now()
  ) AS held;
  IF spent_cost >= p_cost_limit OR spent_tokens >= p_token_limit THEN RETURN 'exceeded'; END IF;
  IF spent_cost + held_cost >= p_cost_limit OR spent_tokens + held_tokens >= p_token_limit THEN RETURN 'held'; END IF;
  RETURN 'ok';
END $$;
-- The vault: secrets of tenants, encrypted. What is named "vault:NAME" elsewhere is found here.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_secrets (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(100) NOT NULL,
      -- v1.KEY-ID.IV.BODY, AES-256-GCM; the tenant and the name are authenticated with it.
      sealed TEXT NOT NULL,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_secrets_name
  ON elo_agent_secrets (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);

-- The tenant's channel accounts as {channel: {key: value}}, where an installation has them. What is named
-- "channel:telegram.token" elsewhere is found here. Of several accounts of a channel the oldest active one counts.
CREATE OR REPLACE FUNCTION elo_agent_channel_credentials(p_tenant UUID) RETURNS JSONB LANGUAGE plpgsql STABLE AS $$
DECLARE
  found JSONB;
BEGIN
  IF to_regclass('elo_t_channel_accounts') IS NULL OR to_regclass('elo_channels') IS NULL THEN RETURN '{}'; END IF;
  EXECUTE $query$
    SELECT coalesce(jsonb_object_agg(one.code, one.keys), '{}')
    FROM (
      SELECT DISTINCT ON (channel.code) channel.code,
        jsonb_build_object('account_id', account.data ->> 'account_id') || coalesce(
          CASE jsonb_typeof(account.data -> 'credentials') WHEN 'object' THEN account.data -> 'credentials' END, '{}') AS keys
      FROM (SELECT to_jsonb(raw) AS data FROM elo_t_channel_accounts AS raw WHERE raw.tenant_id = $1) AS account
      JOIN elo_channels AS channel ON channel.id::text = account.data ->> 'channel_id'
      WHERE coalesce((account.data ->> 'is_active')::boolean, true)
      ORDER BY channel.code, account.data ->> 'created_at', account.data ->> 'id'
    ) AS one
  $query$ INTO found USING p_tenant;
  RETURN found;
END $$;
-- How a tool of the transports rest, workflow and builtin is called. A tenant's custom_config.transport_config is laid over it.
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS transport_config JSONB;
-- Row-level security: a role that does not own the tables sees the rows of the tenant in app.tenant_id, and no others.
-- Enabled, not forced: the owner, and with it everything that writes these tables today, goes on as before.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
  -- Not set is NULL, which equals nothing; what is no UUID is an error.
  tenant TEXT := $is$nullif(current_setting('app.tenant_id', true), '')::uuid$is$;
  own TEXT := format('tenant_id = %s', tenant);
  walled RECORD;
BEGIN
  FOR walled IN
    SELECT class.oid::regclass AS name, rule.command, rule.condition
    FROM (VALUES
      (tenants, 'ALL', format('id = %s', tenant)),
      ('elo_t_tenant_tools', 'ALL', own),
      ('elo_t_token_usage', 'ALL', own),
      ('elo_agent_runs', 'ALL', own),
      ('elo_agent_model_calls', 'ALL', own),
      ('elo_t_tenant_mcp_servers', 'ALL', own),
      ('elo_t_tenant_mcp_tools', 'ALL', own),
      ('elo_tool_executions', 'ALL', own),
      ('elo_agent_rate_windows', 'ALL', own),
      ('elo_agent_monthly_usage', 'ALL', own),
      ('elo_agent_tools', 'SELECT',
        format('EXISTS (SELECT FROM elo_t_tenant_tools AS link WHERE link.tool_id = elo_agent_tools.id AND link.%s)', own)),
      ('elo_agent_mcp_servers', 'SELECT',
        format('EXISTS (SELECT FROM elo_t_tenant_mcp_servers AS link WHERE link.server_id = elo_agent_mcp_servers.id AND link.%s)', own)),
      ('elo_agent_tiers', 'SELECT', 'true'),
      ('elo_model_pricing', 'SELECT', 'true'),
      -- Without a policy nobody but the owner sees a row.
      ('elo_agent_secrets', NULL, NULL),
      ('elo_agent_migrations', NULL, NULL)
    ) AS rule (name, command, condition)
    JOIN pg_class AS class ON class.oid = to_regclass(rule.name)
    WHERE class.relkind IN ('r', 'p') AND pg_has_role(class.relowner, 'USAGE')
      -- A wall that the installation built itself stays as it is: policies add up, so ours would open it.
      AND (
        NOT class.relrowsecurity
        OR EXISTS (SELECT FROM pg_policy AS policy WHERE policy.polrelid = class.oid AND policy.polname = 'elo_agent_tenant')
      )
  LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled.name);
    EXECUTE format('DROP POLICY IF EXISTS elo_agent_tenant ON %s', walled.name);
    IF walled.command = 'ALL' THEN
      EXECUTE format('CREATE POLICY elo_agent_tenant ON %s FOR ALL USING (%s) WITH CHECK (%2$s)', walled.name, walled.condition);
    ELSIF walled.command = 'SELECT' THEN
      EXECUTE format('CREATE POLICY elo_agent_tenant ON %s FOR SELECT USING (%s)', walled.name, walled.condition);
    END IF;
  END LOOP;
END $$;

-- A view reads with its owner's rights, past the wall; since Postgres 15 it can read with those of whoever asks.
DO $$
DECLARE
  seen RECORD;
BEGIN
  FOR seen IN
    SELECT class.oid::regclass AS name, class.relkind AS kind
    FROM (VALUES ('elo_v_agent_tenants'), ('elo_v_tenant_monthly_usage')) AS ours (name)
    JOIN pg_class AS class ON class.oid = to_regclass(ours.name)
    WHERE class.relkind IN ('v', 'm') AND pg_has_role(class.relowner, 'USAGE')
  LOOP
    IF seen.kind = 'v' AND current_setting('server_version_num')::int >= 150000 THEN
      EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', seen.name);
    ELSE
      EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', seen.name);
    END IF;
  END LOOP;
END $$;

-- Whoever may execute a trigger function can hang it on a table of their own, and have it delete with its owner's rights.
-- The others take a tenant's id on trust. Triggers fire whether or not the caller may execute them.
DO $$
DECLARE
  -- Named last, or it would be searched first, where anybody can put a table of any name.
  path TEXT := concat_ws(', ', (
    SELECT string_agg(quote_ident(one.name), ', ' ORDER BY one.place)
    FROM unnest(current_schemas(false)) WITH ORDINALITY AS one (name, place)
    WHERE one.name NOT LIKE 'pg\_temp%'
  ), 'pg_temp');
  called RECORD;
BEGIN
  FOR called IN
    SELECT proc.oid::regprocedure AS name, proc.prosecdef
    FROM pg_proc AS proc
    WHERE proc.proname IN (
      'elo_agent_forget_tenant', 'elo_agent_count_usage', 'elo_agent_policy_version', 'elo_agent_take_call',
      'elo_agent_reserve', 'elo_agent_channel_credentials'
    ) AND pg_function_is_visible(proc.oid) AND pg_has_role(proc.proowner, 'USAGE')
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called.name);
    IF called.prosecdef THEN EXECUTE format('ALTER FUNCTION %s SET search_path = %s', called.name, path); END IF;
  END LOOP;
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

ALTER TABLE elo_agent_journal ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS elo_agent_tenant ON elo_agent_journal;
CREATE POLICY elo_agent_tenant ON elo_agent_journal FOR ALL
  USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- A claim may have waited for the run before it, whose last entries a statement that began earlier would not see. A volatile
-- function does.
CREATE OR REPLACE FUNCTION elo_agent_read_journal(p_tenant UUID, p_task TEXT, OUT last_step INT, OUT entries JSON)
LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
  SELECT max(kept.step), json_agg(json_build_object(
    'step', kept.step, 'entry', kept.entry, 'sent', kept.sent, 'content', kept.content) ORDER BY kept.step, kept.entry)
  INTO last_step, entries
  FROM elo_agent_journal AS kept WHERE kept.tenant_id = p_tenant AND kept.task_id = p_task;
END $$;
REVOKE EXECUTE ON FUNCTION elo_agent_read_journal(UUID, TEXT) FROM PUBLIC;
-- Prices that know caches and reasoning, what caches have saved, and lines of the bill of any size.

-- NULL: as input, as input, as cache_write_cost_per_1m, as output. A table of another owner, who has added them, stays as it is.
DO $$
BEGIN
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cached_input_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_1h_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS reasoning_cost_per_1m NUMERIC;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;

ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cache_write_tokens BIGINT;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cache_write_1h_tokens BIGINT;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS saved_exact NUMERIC;
-- Of either kind.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cache_write_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS saved_exact NUMERIC;

-- A table that had no is_free got it a moment ago, with its default; the documents' free tier is free there too.
UPDATE elo_agent_tiers SET is_free = true
WHERE code = 'nano' AND EXISTS (
  SELECT FROM pg_attribute AS attribute
  WHERE attribute.attrelid = 'elo_agent_tiers'::regclass AND attribute.attname = 'is_free'
    AND attribute.xmin::text = (txid_current() & 4294967295)::text
);

-- DECIMAL(12, 8) ends at $9,999.99999999. The table that we made is widened; an adopted one is its installation's, and
-- `db status` tells how. So it does where something of others hangs on the column.
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
        'provider_cost_usd', 'cache_write_tokens', 'saved_exact'
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

-- A line's cost as its column can hold it. One that is too narrow holds its highest figure, all nines, and no bill is lost:
-- the exact one stands beside it.
CREATE OR REPLACE FUNCTION elo_agent_fitting_cost(p_exact NUMERIC) RETURNS NUMERIC LANGUAGE plpgsql STABLE AS $$
DECLARE
  precise INT;
  places INT;
BEGIN
  IF p_exact < 1 THEN RETURN round(p_exact, 8); END IF;
  SELECT (attribute.atttypmod - 4) >> 16, (attribute.atttypmod - 4) & 2047 INTO precise, places
  FROM pg_attribute AS attribute
  WHERE attribute.attrelid = 'elo_t_token_usage'::regclass AND attribute.attname = 'cost_usd'
    AND attribute.atttypid = 'numeric'::regtype AND attribute.atttypmod > 0;
  IF NOT FOUND THEN RETURN round(p_exact, 8); END IF;
  RETURN least(round(p_exact, 8), (repeat('9', precise - places) || '.' || repeat('9', places))::numeric);
END $$;

-- What a line counts: what it shows, which others may have corrected, but for one that was too dear for its column.
CREATE OR REPLACE FUNCTION elo_agent_line_cost(p_shown NUMERIC, p_exact NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_exact > p_shown AND p_shown::text ~ '^9+([.]9+)?$' THEN round(p_exact, 8)
    ELSE coalesce(nullif(p_shown, 'NaN'), 0)
  END
$$;

CREATE OR REPLACE FUNCTION elo_agent_count_usage() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  this_month DATE := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
  old_month DATE;
  new_month DATE;
  old_cost NUMERIC := 0;
  new_cost NUMERIC := 0;
  old_tokens BIGINT := 0;
  new_tokens BIGINT := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM elo_agent_monthly_usage;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    old_month := date_trunc('month', coalesce(OLD.created_at, now()) AT TIME ZONE 'UTC')::date;
    old_cost := elo_agent_line_cost(OLD.cost_usd::numeric, OLD.cost_exact);
    old_tokens := coalesce(OLD.total_tokens, 0);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    new_month := date_trunc('month', coalesce(NEW.created_at, now()) AT TIME ZONE 'UTC')::date;
    new_cost := elo_agent_line_cost(NEW.cost_usd::numeric, NEW.cost_exact);
    new_tokens := coalesce(NEW.total_tokens, 0);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.tenant_id = OLD.tenant_id AND new_month = old_month THEN
    IF NEW.run_id IS NOT NULL AND new_cost >= old_cost AND new_tokens >= old_tokens THEN new_month := this_month; END IF;
    PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost - old_cost, new_tokens - old_tokens);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM elo_agent_add_usage(OLD.tenant_id, old_month, -old_cost, -old_tokens); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost, new_tokens); END IF;
  RETURN NULL;
END $$;

-- As in 0007: replaced, a function has lost its search path. It runs with its owner's rights, so pg_temp is named last.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION elo_agent_count_usage() SET search_path = %s', concat_ws(', ', (
    SELECT string_agg(quote_ident(one.name), ', ' ORDER BY one.place)
    FROM unnest(current_schemas(false)) WITH ORDINALITY AS one (name, place)
    WHERE one.name NOT LIKE 'pg\_temp%'
  ), 'pg_temp'));
END $$;
-- NULL: the tokens at our price. 'provider': the provider's own figure, in whole or in part, since its tokens could not be relied upon.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cost_basis TEXT;
-- Runs a minute of a tenant, and limits of a tool for one agent alone.

-- Takes one run off the tenant's minute: 0, or how many seconds to wait for the next minute; a refused run takes nothing.
-- No tool can have the name that the window has.
CREATE OR REPLACE FUNCTION elo_agent_take_run(p_tenant UUID, p_per_minute INT) RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
  ends_at TIMESTAMPTZ;
BEGIN
  INSERT INTO elo_agent_rate_windows AS used (tenant_id, scope, seconds, started_at, used)
  SELECT p_tenant, '#runs', 60, clock_timestamp(), 1 WHERE p_per_minute > 0
  ON CONFLICT (tenant_id, scope, seconds) DO UPDATE SET
    started_at = CASE WHEN used.started_at + interval '1 minute' <= clock_timestamp() THEN clock_timestamp() ELSE used.started_at END,
    used = CASE WHEN used.started_at + interval '1 minute' <= clock_timestamp() THEN 1 ELSE used.used + 1 END
  WHERE used.used < p_per_minute OR used.started_at + interval '1 minute' <= clock_timestamp();
  IF FOUND THEN RETURN 0; END IF;
  SELECT started_at + interval '1 minute' INTO ends_at FROM elo_agent_rate_windows
  WHERE tenant_id = p_tenant AND scope = '#runs' AND seconds = 60;
  RETURN greatest(1, ceil(extract(epoch FROM ends_at - clock_timestamp()))::int);
END $$;

-- Takes one call of a tool off its limits, or says why not; a refused call takes nothing. `p_code` is NULL for tools that
-- are in no catalogue. Limits that stand with an agent are counted under a scope of the agent's own, beside those that hold
-- for all of the tenant. An installation's own elo_check_tool_access is asked too, and may count for itself.
CREATE OR REPLACE FUNCTION elo_agent_take_call(
  p_tenant UUID, p_code TEXT, p_scope TEXT, p_per_minute INT, p_per_day INT,
  p_agent TEXT, p_agent_per_minute INT, p_agent_per_day INT
) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  own RECORD;
  verdict RECORD;
  counted INT;
  span RECORD;
BEGIN
  IF p_code IS NOT NULL THEN
    SELECT link.tenant_id, link.tool_id, link.is_enabled, link.usage_limit_daily, tool.is_active,
      CASE WHEN link.last_reset_date < CURRENT_DATE THEN 0 ELSE coalesce(link.usage_count_today, 0) END AS used
    INTO own
    FROM elo_t_tenant_tools AS link JOIN elo_agent_tools AS tool ON tool.id = link.tool_id
    WHERE link.tenant_id = p_tenant AND tool.code = p_code
    FOR UPDATE OF link;
    IF NOT FOUND OR NOT own.is_enabled OR NOT own.is_active THEN RETURN 'tool_disabled'; END IF;
    IF own.usage_limit_daily IS NOT NULL AND own.used >= own.usage_limit_daily THEN RETURN 'daily_limit_exceeded'; END IF;
  END IF;
  -- In one order everywhere, so that two runs never wait for each other. No tool has an @ in its name.
  FOR span IN SELECT * FROM (VALUES
    (1, p_scope, 60, p_per_minute), (2, p_scope, 86400, p_per_day),
    (3, p_scope || '@' || p_agent, 60, p_agent_per_minute), (4, p_scope || '@' || p_agent, 86400, p_agent_per_day)
  ) AS spans (place, scope, seconds, calls) WHERE spans.calls IS NOT NULL AND spans.scope IS NOT NULL ORDER BY spans.place LOOP
    INSERT INTO elo_agent_rate_windows AS used (tenant_id, scope, seconds, started_at, used)
    SELECT p_tenant, span.scope, span.seconds, clock_timestamp(), 1 WHERE span.calls > 0
    ON CONFLICT (tenant_id, scope, seconds) DO UPDATE SET
      started_at = CASE WHEN used.started_at + used.seconds * interval '1 second' <= clock_timestamp() THEN clock_timestamp() ELSE used.started_at END,
      used = CASE WHEN used.started_at + used.seconds * interval '1 second' <= clock_timestamp() THEN 1 ELSE used.used + 1 END
    WHERE used.used < span.calls OR used.started_at + used.seconds * interval '1 second' <= clock_timestamp();
    IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = 'UA001', MESSAGE = CASE span.seconds WHEN 60 THEN 'minute_limit_exceeded' ELSE 'day_limit_exceeded' END; END IF;
  END LOOP;
  IF p_code IS NOT NULL THEN
    IF to_regprocedure('elo_check_tool_access(uuid, character varying)') IS NOT NULL THEN
      EXECUTE 'SELECT allowed, reason FROM elo_check_tool_access($1, $2::varchar)' INTO verdict USING p_tenant, p_code;
      IF verdict.allowed IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'UA001', MESSAGE = coalesce(verdict.reason, 'tool_not_allowed'); END IF;
    END IF;
    IF own.usage_limit_daily IS NOT NULL THEN
      SELECT CASE WHEN link.last_reset_date < CURRENT_DATE THEN 0 ELSE coalesce(link.usage_count_today, 0) END INTO counted
      FROM elo_t_tenant_tools AS link WHERE link.tenant_id = p_tenant AND link.tool_id = own.tool_id;
      IF counted = own.used THEN
        UPDATE elo_t_tenant_tools SET usage_count_today = own.used + 1, last_reset_date = CURRENT_DATE
        WHERE tenant_id = p_tenant AND tool_id = own.tool_id;
      END IF;
    END IF;
  END IF;
  RETURN NULL;
EXCEPTION WHEN SQLSTATE 'UA001' THEN
  RETURN SQLERRM;
END $$;

-- What processes of the version before call, while both are running.
CREATE OR REPLACE FUNCTION elo_agent_take_call(p_tenant UUID, p_code TEXT, p_scope TEXT, p_per_minute INT, p_per_day INT)
RETURNS TEXT LANGUAGE sql AS $$
  SELECT elo_agent_take_call(p_tenant, p_code, p_scope, p_per_minute, p_per_day, NULL, NULL, NULL)
$$;

-- Both take a tenant's id on trust, so they are not everybody's: who may execute the function of before may execute these.
DO $$
DECLARE
  grantee RECORD;
BEGIN
  REVOKE EXECUTE ON FUNCTION elo_agent_take_run(UUID, INT) FROM PUBLIC;
  REVOKE EXECUTE ON FUNCTION elo_agent_take_call(UUID, TEXT, TEXT, INT, INT, TEXT, INT, INT) FROM PUBLIC;
  FOR grantee IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS name
    FROM pg_proc AS proc, aclexplode(proc.proacl) AS acl
    WHERE proc.oid = 'elo_agent_take_call(uuid, text, text, int, int)'::regprocedure AND acl.privilege_type = 'EXECUTE'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION elo_agent_take_run(UUID, INT) TO %s', grantee.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION elo_agent_take_call(UUID, TEXT, TEXT, INT, INT, TEXT, INT, INT) TO %s', grantee.name);
  END LOOP;
END $$;
-- Who a run was for, as the meta of its task said it. The user of runs and tool calls is there already.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS client_id TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS dialog_id TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS session_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS client_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS dialog_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS session_id TEXT;
-- Runs are forgotten, their lines are not. The bill may be another program's table, with columns of the plain names.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_client_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_dialog_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_user_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_session_id TEXT;
-- Limit, in seconds, of the time without a byte of a model's reply. NULL: the default.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS model_silence_seconds NUMERIC;
-- True where usage was estimated, in whole or in part, since the provider reported none; NULL in rows of before.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS usage_estimated BOOLEAN;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS usage_estimated BOOLEAN;
-- What a call has used that the bill did not take. It counts in the month of `unbilled_at` as long as the call is open, so that
-- a budget stays shut while no line can be written. The line that is written at last closes the call.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_at TIMESTAMPTZ;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_cost_usd NUMERIC;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_tokens BIGINT;
CREATE INDEX IF NOT EXISTS elo_agent_model_calls_unbilled ON elo_agent_model_calls (tenant_id)
  WHERE unbilled_at IS NOT NULL AND closed_at IS NULL;

CREATE OR REPLACE FUNCTION elo_agent_unbilled(p_tenant UUID, OUT cost NUMERIC, OUT tokens NUMERIC) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(call.unbilled_cost_usd), 0), coalesce(sum(call.unbilled_tokens), 0) FROM elo_agent_model_calls AS call
  WHERE call.tenant_id = p_tenant AND call.closed_at IS NULL
    AND call.unbilled_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

-- As in 0004, with what is not on the bill.
CREATE OR REPLACE FUNCTION elo_agent_reserve(
  p_tenant UUID, p_run UUID, p_cost_limit NUMERIC, p_token_limit NUMERIC, p_adding_cost NUMERIC, p_adding_tokens NUMERIC
) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  spent_cost NUMERIC;
  spent_tokens NUMERIC;
  held_cost NUMERIC;
  held_tokens NUMERIC;
BEGIN
  IF p_cost_limit IS NULL AND p_token_limit IS NULL THEN RETURN 'ok'; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || p_tenant, 0));
  SELECT spent.cost + unbilled.cost + p_adding_cost, spent.tokens + unbilled.tokens + p_adding_tokens, held.cost, held.tokens
  INTO spent_cost, spent_tokens, held_cost, held_tokens
  FROM (
    SELECT coalesce(sum(cost_usd), 0) AS cost, coalesce(sum(tokens), 0) AS tokens FROM elo_agent_monthly_usage
    WHERE tenant_id = p_tenant AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  ) AS spent, elo_agent_unbilled(p_tenant) AS unbilled, (
    SELECT coalesce(sum(run.held_cost_usd), 0) AS cost, coalesce(sum(run.held_tokens), 0) AS tokens FROM elo_agent_runs AS run
    WHERE run.tenant_id = p_tenant AND run.run_id <> p_run AND run.state = 'running' AND run.lease_until > now()
  ) AS held;
  IF spent_cost >= p_cost_limit OR spent_tokens >= p_token_limit THEN RETURN 'exceeded'; END IF;
  IF spent_cost + held_cost >= p_cost_limit OR spent_tokens + held_tokens >= p_token_limit THEN RETURN 'held'; END IF;
  RETURN 'ok';
END $$;

-- What a line has cost: exactly, where its column is too narrow or has too few places; what a person has changed, as it is.
CREATE OR REPLACE FUNCTION elo_agent_line_cost(p_shown NUMERIC, p_exact NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_exact > p_shown AND p_shown::text ~ '^9+([.]9+)?$' OR round(p_exact, scale(p_shown)) = p_shown THEN round(p_exact, 8)
    ELSE coalesce(nullif(p_shown, 'NaN'), 0)
  END
$$;

-- A trigger or a rule may drop a line without a word.
CREATE OR REPLACE FUNCTION elo_agent_miss_line() RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'a trigger or rule drops the lines of elo_t_token_usage' USING ERRCODE = 'UA002';
END $$;
-- Adopted tables whose ids their own program made: rows of ours come without one, so the table makes it.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
  lacking RECORD;
BEGIN
  FOR lacking IN
    SELECT class.relname AS name, format_type(id.atttypid, NULL) AS type
    FROM unnest(ARRAY[tenants, 'elo_agent_tools', 'elo_t_tenant_tools', 'elo_t_token_usage', 'elo_agent_tiers', 'elo_model_pricing'])
      AS ours (name)
    JOIN pg_class AS class ON class.oid = to_regclass(ours.name) AND class.relkind IN ('r', 'p')
    JOIN pg_attribute AS id ON id.attrelid = class.oid AND id.attname = 'id' AND NOT id.attisdropped
    WHERE id.attnotnull AND NOT id.atthasdef AND id.attidentity = '' AND pg_has_role(class.relowner, 'USAGE')
  LOOP
    IF lacking.type = 'uuid' THEN
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT gen_random_uuid()', lacking.name);
    ELSIF lacking.type IN ('text', 'character varying') THEN
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT gen_random_uuid()::text', lacking.name);
    ELSIF lacking.type IN ('smallint', 'integer', 'bigint') THEN
      EXECUTE format('CREATE SEQUENCE %I OWNED BY %I.id', lacking.name || '_ids', lacking.name);
      EXECUTE format('SELECT setval(%L, coalesce(max(id), 0)::bigint + 1, false) FROM %I', lacking.name || '_ids', lacking.name);
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT nextval(%L)', lacking.name, lacking.name || '_ids');
    END IF;
  END LOOP;
END $$;
-- What a person decided on the call that run `decided_run_id` waited with, who it was, and when. A build of before this migration
-- writes none of it. In the audit only who.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_run_id UUID;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decision TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_by TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_at TIMESTAMPTZ;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS decided_by TEXT;
-- How often the connections to a tenant's server were reset. Every process makes new ones when it has grown, and asks for the
-- list of tools again.
ALTER TABLE elo_t_tenant_mcp_servers ADD COLUMN IF NOT EXISTS resets INT NOT NULL DEFAULT 0;

-- As in 0004, with the resets: a run under way uses no connection from before.
CREATE OR REPLACE FUNCTION elo_agent_policy_version(p_tenant UUID) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT md5(concat_ws('|',
    tenant.is_active, tenant.settings::text,
    (
      SELECT string_agg(ROW(tool.code, own.is_enabled, tool.is_active, tool.allowed_tiers, own.custom_config)::text, ',' ORDER BY tool.id)
      FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(server.code, own.is_enabled, server.is_active, server.allowed_tiers, server.include_tools, server.exclude_tools, own.resets)::text, ',' ORDER BY server.id)
      FROM elo_t_tenant_mcp_servers AS own JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(tool.server_id, tool.name)::text, ',' ORDER BY tool.server_id, tool.name) FROM elo_t_tenant_mcp_tools AS tool
      WHERE tool.tenant_id = tenant.id AND tool.position IS NOT NULL AND tool.approved_hash IS DISTINCT FROM tool.hash
    ),
    (SELECT string_agg(ROW(tier.code, tier.tool_config)::text, ',' ORDER BY tier.code) FROM elo_agent_tiers AS tier)
  ))
  FROM elo_v_agent_tenants AS tenant WHERE tenant.id = p_tenant
$$;
-- Agents: what a run is asked to be, picked by name. A tenant's own row wins over that for all tenants (tenant_id NULL).
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agents (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(50) NOT NULL,
      description TEXT,
      system_prompt TEXT,
      -- A tier or a model, not both.
      tier VARCHAR(20),
      model VARCHAR(100),
      -- [{"when": {"context.plan": "pro"}, "tier": "expert"}]: the first whose values all are equal.
      model_rules JSONB,
      temperature NUMERIC(3,2),
      max_iterations INT,
      -- NULL: all tools of the tenant; empty: none.
      tools TEXT[],
      tool_permissions JSONB,
      skills TEXT[],
      output_schema JSONB,
      limits JSONB,
      sub_agents TEXT[],
      fallback_models TEXT[],
      knowledge JSONB,
      version INT NOT NULL DEFAULT 1,
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agents_name
  ON elo_agents (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);
CREATE INDEX IF NOT EXISTS elo_agents_tenant ON elo_agents (tenant_id, name);

CREATE OR REPLACE FUNCTION elo_agents_versioned() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  NEW.version := CASE WHEN TG_OP = 'UPDATE' THEN OLD.version + 1 ELSE 1 END;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;
DROP TRIGGER IF EXISTS elo_agents_versioned ON elo_agents;
CREATE TRIGGER elo_agents_versioned BEFORE INSERT OR UPDATE ON elo_agents
  FOR EACH ROW EXECUTE FUNCTION elo_agents_versioned();

ALTER TABLE elo_agents ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS elo_agent_tenant ON elo_agents;
CREATE POLICY elo_agent_tenant ON elo_agents FOR ALL
  USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- As in 0020, with the agents: of these a sum, which is cheap to make at each step of a run. By versions, not by the time of the
-- change: what is written later may be committed earlier.
CREATE OR REPLACE FUNCTION elo_agent_policy_version(p_tenant UUID) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT md5(concat_ws('|',
    tenant.is_active, tenant.settings::text,
    (
      SELECT string_agg(ROW(tool.code, own.is_enabled, tool.is_active, tool.allowed_tiers, own.custom_config)::text, ',' ORDER BY tool.id)
      FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(server.code, own.is_enabled, server.is_active, server.allowed_tiers, server.include_tools, server.exclude_tools, own.resets)::text, ',' ORDER BY server.id)
      FROM elo_t_tenant_mcp_servers AS own JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
      WHERE own.tenant_id = tenant.id
    ),
    (
      SELECT string_agg(ROW(tool.server_id, tool.name)::text, ',' ORDER BY tool.server_id, tool.name) FROM elo_t_tenant_mcp_tools AS tool
      WHERE tool.tenant_id = tenant.id AND tool.position IS NOT NULL AND tool.approved_hash IS DISTINCT FROM tool.hash
    ),
    (SELECT string_agg(ROW(tier.code, tier.tool_config)::text, ',' ORDER BY tier.code) FROM elo_agent_tiers AS tier),
    (
      SELECT sum(hashtextextended(agent.id || '/' || agent.version, 0)::numeric) FROM elo_agents AS agent
      WHERE agent.tenant_id = tenant.id OR agent.tenant_id IS NULL
    )
  ))
  FROM elo_v_agent_tenants AS tenant WHERE tenant.id = p_tenant
$$;
-- What a server says of its tool: that it only reads. False until the list is asked for again.
ALTER TABLE elo_t_tenant_mcp_tools ADD COLUMN IF NOT EXISTS is_read_only BOOLEAN NOT NULL DEFAULT false;
-- Skills: instructions in the format of agentskills.io, read by a model that asks for them. A tenant's own row wins over that for
-- all tenants (tenant_id NULL).
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_skills (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(64) NOT NULL,
      description TEXT NOT NULL,
      -- SKILL.md, byte for byte.
      content TEXT NOT NULL,
      -- The other files of its folder by path: {"references/FORMS.md": {"text": "..."}, "assets/logo.png": {"base64": "..."}}.
      files JSONB NOT NULL DEFAULT '{}',
      version INT NOT NULL DEFAULT 1,
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_skills_name
  ON elo_agent_skills (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);
CREATE INDEX IF NOT EXISTS elo_agent_skills_tenant ON elo_agent_skills (tenant_id, name);

DROP TRIGGER IF EXISTS elo_agent_skills_versioned ON elo_agent_skills;
CREATE TRIGGER elo_agent_skills_versioned BEFORE INSERT OR UPDATE ON elo_agent_skills
  FOR EACH ROW EXECUTE FUNCTION elo_agents_versioned();

ALTER TABLE elo_agent_skills ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS elo_agent_tenant ON elo_agent_skills;
CREATE POLICY elo_agent_tenant ON elo_agent_skills FOR ALL
  USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

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

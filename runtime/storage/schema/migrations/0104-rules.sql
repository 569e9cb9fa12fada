-- What the tables do by themselves: sums of the month, limits, and walls between tenants.

CREATE OR REPLACE FUNCTION elo_agent_forget_tenant() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM elo_t_token_usage WHERE tenant_id = OLD.id AND run_id IS NOT NULL;
  RETURN OLD;
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

-- What a line has cost: exactly, where its column is too narrow or has too few places; what a person has changed, as it is.
CREATE OR REPLACE FUNCTION elo_agent_line_cost(p_shown NUMERIC, p_exact NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_exact > p_shown AND p_shown::text ~ '^9+([.]9+)?$' OR round(p_exact, scale(p_shown)) = p_shown THEN round(p_exact, 8)
    ELSE coalesce(nullif(p_shown, 'NaN'), 0)
  END
$$;

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

DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
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

-- What the month's open calls have used that the bill did not take.
CREATE OR REPLACE FUNCTION elo_agent_unbilled(p_tenant UUID, OUT cost NUMERIC, OUT tokens NUMERIC) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(call.unbilled_cost_usd), 0), coalesce(sum(call.unbilled_tokens), 0) FROM elo_agent_model_calls AS call
  WHERE call.tenant_id = p_tenant AND call.closed_at IS NULL
    AND call.unbilled_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

-- Whether the month has room for a model call of the last of these runs: 'ok', 'held' while holds of other runs take the rest,
-- 'exceeded'. What the runs above it hold is there for it too. One caller of a tenant at a time until its transaction ends. What is
-- spent and what is held are read as of one moment, since a run that ends between the two would be in neither.
CREATE OR REPLACE FUNCTION elo_agent_reserve(
  p_tenant UUID, p_runs UUID[], p_cost_limit NUMERIC, p_token_limit NUMERIC, p_adding_cost NUMERIC, p_adding_tokens NUMERIC
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
    WHERE run.tenant_id = p_tenant AND run.run_id <> ALL (p_runs) AND run.state = 'running' AND run.lease_until > now()
  ) AS held;
  IF spent_cost >= p_cost_limit OR spent_tokens >= p_token_limit THEN RETURN 'exceeded'; END IF;
  IF spent_cost + held_cost >= p_cost_limit OR spent_tokens + held_tokens >= p_token_limit THEN RETURN 'held'; END IF;
  RETURN 'ok';
END $$;

-- A trigger or a rule may drop a line without a word.
CREATE OR REPLACE FUNCTION elo_agent_miss_line() RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'a trigger or rule drops the lines of elo_t_token_usage' USING ERRCODE = 'UA002';
END $$;

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

-- Changes with everything that decides which tools a tenant may call, and on which connections. Of the agents a sum, which is cheap to
-- make at each step of a run. By versions, not by the time of the change: what is written later may be committed earlier.
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
      ('elo_agent_journal', 'ALL', own),
      ('elo_agents', 'ALL', own),
      ('elo_agent_skills', 'ALL', own),
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
-- The others take a tenant's id on trust. As the last thing, since a function that is replaced loses its search path. Triggers fire whether or not the caller may execute them.
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
      'elo_agent_forget_tenant', 'elo_agent_count_usage', 'elo_agent_policy_version', 'elo_agent_take_call', 'elo_agent_take_run',
      'elo_agent_reserve', 'elo_agent_channel_credentials', 'elo_agent_read_journal', 'elo_agent_add_usage'
    ) AND pg_function_is_visible(proc.oid) AND pg_has_role(proc.proowner, 'USAGE')
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called.name);
    IF called.prosecdef THEN EXECUTE format('ALTER FUNCTION %s SET search_path = %s', called.name, path); END IF;
  END LOOP;
END $$;

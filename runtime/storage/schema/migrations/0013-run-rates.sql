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

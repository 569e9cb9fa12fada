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

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

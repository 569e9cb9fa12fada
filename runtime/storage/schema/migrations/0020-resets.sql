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

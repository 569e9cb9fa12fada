import { statement } from '../statement';

/** Every text of settings with the tenants that have it. */
export const tenantSettingsStatement = statement(`
SELECT settings::text AS settings, array_agg(id::text ORDER BY id) AS tenants
FROM elo_v_agent_tenants
WHERE settings::text <> '{}' AND is_active
GROUP BY settings::text`);

export const tierRulesStatement = statement(`
SELECT code, to_jsonb(tool_config)::text AS rules FROM elo_agent_tiers WHERE tool_config IS NOT NULL ORDER BY code`);

/** Active agents, as the load statement returns them. */
export const agentsStatement = statement(`
SELECT coalesce(json_agg(to_json(agent) ORDER BY agent.name, agent.id), '[]')::text AS agents
FROM elo_agents AS agent WHERE agent.is_active`);

/** Every tool that tenants have, once for each custom_config, as the load statement gives it. */
export const tenantToolsStatement = statement(`
SELECT json_build_array(json_build_object(
    'code', tool.code, 'transport', tool.transport,
    'custom_config', own.config, 'transport_config', tool.transport_config
  ))::text AS tools, own.tenants
FROM elo_agent_tools AS tool
JOIN (
  SELECT tool_id, custom_config::text AS config, array_agg(tenant_id::text ORDER BY tenant_id) AS tenants
  FROM elo_t_tenant_tools WHERE is_enabled GROUP BY tool_id, custom_config::text
) AS own ON own.tool_id = tool.id
WHERE tool.is_active AND (coalesce(own.config, '{}') <> '{}' OR coalesce(tool.transport_config::text, '{}') <> '{}')
ORDER BY tool.code`);

/** Every MCP server that tenants use, once for each credential, as the load statement gives it. Its list is left out. */
export const tenantServersStatement = statement(`
SELECT json_build_array(json_build_object(
    'id', server.id, 'code', server.code, 'url', server.url, 'transport', server.transport,
    'auth', coalesce(own.auth, server.auth), 'settings', server.settings, 'is_list_fresh', false
  ))::text AS servers, own.tenants
FROM elo_agent_mcp_servers AS server
JOIN (
  SELECT server_id, auth, array_agg(tenant_id::text ORDER BY tenant_id) AS tenants
  FROM elo_t_tenant_mcp_servers WHERE is_enabled GROUP BY server_id, auth
) AS own ON own.server_id = server.id
WHERE server.is_active
ORDER BY server.code`);

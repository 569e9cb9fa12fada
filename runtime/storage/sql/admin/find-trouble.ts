import { type Statement, statement } from '../../statement';

/** Where tools that tenants were given are reached; each address once. */
export const TOOL_ADDRESSES = statement(`
SELECT DISTINCT coalesce(to_jsonb(own.custom_config) ->> 'mcp_endpoint', tool.mcp_endpoint) AS url
FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
WHERE coalesce(own.is_enabled, true) AND coalesce(tool.is_active, true) AND coalesce(tool.transport, 'hook') <> 'builtin'
ORDER BY url LIMIT 50`);

/** Active tenants that use MCP servers. */
export const TENANTS_WITH_SERVERS = statement(`
SELECT DISTINCT tenant.id::text AS id FROM elo_v_agent_tenants AS tenant
JOIN elo_t_tenant_mcp_servers AS own ON own.tenant_id = tenant.id AND own.is_enabled
JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id AND server.is_active
WHERE tenant.is_active ORDER BY id LIMIT 20`);

/** Tiers whose model nobody has given a price, so that a cost limit refuses them. */
export const UNPRICED_TIERS = statement(`
SELECT tier.code, tier.model_id FROM elo_agent_tiers AS tier
WHERE tier.model_id IS NOT NULL AND NOT EXISTS (
  SELECT FROM elo_model_pricing AS price WHERE price.model_id = tier.model_id AND price.input_cost_per_1m IS NOT NULL
) ORDER BY tier.code LIMIT 20`);

export const PING: Statement = { text: 'SELECT 1 AS one', values: [] };

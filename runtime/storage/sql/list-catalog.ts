import type { Statement } from '../statement';

export function listTenantToolsStatement(tenantId: string): Statement {
  return {
    text: `
SELECT id, name, description FROM (
  SELECT tool.code AS id, tool.name, tool.description, 1 AS source, tool.sort_order, tool.id AS place
  FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
  WHERE own.tenant_id = $1::uuid AND own.is_enabled AND tool.is_active
  UNION ALL
  SELECT server.code || '.' || tool.name, server.code || '.' || tool.name, tool.description, 2, server.sort_order,
    server.id * 1000 + tool.position
  FROM elo_t_tenant_mcp_servers AS own
  JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
  JOIN elo_t_tenant_mcp_tools AS tool ON tool.server_id = own.server_id AND tool.tenant_id = own.tenant_id
  WHERE own.tenant_id = $1::uuid AND own.is_enabled AND server.is_active AND tool.position IS NOT NULL
) AS tools
ORDER BY source, sort_order, place`,
    values: [tenantId],
  };
}

import type { Statement } from '../postgres';

const MAX_ENTRIES = 100;

export function listTenantsStatement(filter: string): Statement {
  return {
    text: `
SELECT id::text AS id, name FROM elo_v_agent_tenants
WHERE is_active AND (name ILIKE '%' || $1 || '%' OR id::text LIKE lower($1) || '%')
ORDER BY name LIMIT ${MAX_ENTRIES}`,
    values: [filter.replace(/[\\%_]/g, '\\$&')],
  };
}

export function listTenantToolsStatement(tenantId: string): Statement {
  return {
    text: `
SELECT tool.code AS id, tool.name, tool.description
FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
WHERE own.tenant_id = $1::uuid AND own.is_enabled AND tool.is_active
ORDER BY tool.sort_order, tool.id`,
    values: [tenantId],
  };
}

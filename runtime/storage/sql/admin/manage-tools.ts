import type { JsonObject, JsonValue } from '../../../util/json';
import type { Statement } from '../../statement';
import { named } from '../named';
import { tableStatement } from './write-row';

/** A row of the catalogue. Of a credential only the reference is told. */
export interface CatalogueEntry {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly transport: string;
  readonly endpoint: string | null;
  readonly mcp_tool: string | null;
  /** `vault:NAME`, or `plain text` for a credential that stands in the row. */
  readonly auth_header: string | null;
  readonly timeout_ms: number | null;
  readonly allowed_tiers: JsonValue;
  readonly parameters_schema: JsonValue;
  readonly is_active: boolean;
  /** How many tenants were given it. */
  readonly tenants: number;
}

const ENTRY = `
tool.code, tool.name, tool.description, coalesce(tool.transport, 'hook') AS transport, tool.mcp_endpoint AS endpoint, tool.mcp_tool,
  CASE WHEN tool.auth_header ~* '^\\s*(\\S+\\s+)?(vault|channel):\\S+\\s*$' THEN trim(tool.auth_header)
    WHEN coalesce(tool.auth_header, '') <> '' THEN 'plain text' END AS auth_header,
  tool.timeout_ms, to_jsonb(tool.allowed_tiers) AS allowed_tiers, to_jsonb(tool.parameters_schema) AS parameters_schema,
  coalesce(tool.is_active, true) AS is_active,
  (SELECT count(*)::int FROM elo_t_tenant_tools AS own WHERE own.tool_id = tool.id AND own.is_enabled) AS tenants`;

/** One row more than asked for says that there is another page. `after` is the code of the last one seen. */
export const listTools = named<{ readonly filter?: string; readonly after?: string; readonly rows: number }>(`
SELECT ${ENTRY} FROM elo_agent_tools AS tool
WHERE (:filter::text IS NULL OR position(lower(:filter) in lower(tool.code || ' ' || tool.name)) > 0)
  AND (:after::text IS NULL OR tool.code > :after)
ORDER BY tool.code LIMIT :rows`);

export const getTool = named<{ readonly code: string }>(
  `SELECT ${ENTRY} FROM elo_agent_tools AS tool WHERE tool.code = :code`,
);

/** The columns of a tool as a run reads them, and as nobody else is told them. */
export const readToolRow = named<{ readonly code: string; readonly tenantId?: string }>(`
SELECT tool.id, json_build_array(json_build_object(
    'code', tool.code, 'name', tool.name, 'description', tool.description, 'parameters_schema', tool.parameters_schema,
    'mcp_endpoint', tool.mcp_endpoint, 'auth_header', tool.auth_header, 'timeout_ms', tool.timeout_ms,
    'transport', tool.transport, 'mcp_tool', tool.mcp_tool, 'allowed_tiers', tool.allowed_tiers,
    'transport_config', tool.transport_config, 'custom_config', own.custom_config
  ))::text AS row
FROM elo_agent_tools AS tool
LEFT JOIN elo_t_tenant_tools AS own ON own.tool_id = tool.id AND own.tenant_id = :tenantId::uuid
WHERE tool.code = :code
FOR UPDATE OF tool`);

export const TOOLS_TABLE = tableStatement('elo_agent_tools');
export const TENANT_TOOLS_TABLE = tableStatement('elo_t_tenant_tools');

export const TOOL_CODES: Statement = { text: 'SELECT code FROM elo_agent_tools ORDER BY code', values: [] };

/** A tool of the catalogue, or one that an MCP server has listed; a server that has listed none has no `tool`. */
export interface KnownTool {
  readonly server: string | null;
  readonly tool: string | null;
  /** JSON text; null but for the tools that are named. */
  readonly schema: string | null;
}

export const knownTools = named<{ readonly names: readonly string[] }>(`
SELECT NULL::text AS server, tool.code::text AS tool,
  CASE WHEN tool.code = ANY (:names::text[]) THEN tool.parameters_schema::text END AS schema
FROM elo_agent_tools AS tool
UNION ALL
SELECT DISTINCT NULL, 'ask_' || agent.name, '{"type": "object", "properties": {"message": {"type": "string"}}, "additionalProperties": false}'
FROM elo_agents AS agent WHERE 'ask_' || agent.name = ANY (:names::text[])
UNION ALL
SELECT DISTINCT ON (server.code, tool.name) server.code, tool.name,
  CASE WHEN server.code || '.' || tool.name = ANY (:names::text[])
    OR regexp_replace(server.code || '_' || tool.name, '[^a-zA-Z0-9_-]', '_', 'g') = ANY (:names::text[])
  THEN tool.input_schema::text END
FROM elo_agent_mcp_servers AS server LEFT JOIN elo_t_tenant_mcp_tools AS tool ON tool.server_id = server.id`);

export function deleteToolStatement(code: string): Statement {
  return { text: 'DELETE FROM elo_agent_tools WHERE code = $1 RETURNING code', values: [code] };
}

/** What a tenant was given, and how. Of its own settings only what limits it is told. */
export interface GivenTool {
  readonly code: string;
  readonly is_enabled: boolean;
  readonly usage_limit_daily: number | null;
  readonly permissions: JsonObject | null;
}

export const getGivenTool = named<{ readonly tenantId: string; readonly code: string }>(`
SELECT tool.code, coalesce(own.is_enabled, true) AS is_enabled, own.usage_limit_daily,
  (to_jsonb(own.custom_config) -> 'permissions') AS permissions
FROM elo_t_tenant_tools AS own JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
WHERE own.tenant_id = :tenantId::uuid AND tool.code = :code`);

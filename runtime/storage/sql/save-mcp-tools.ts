import { createHash } from 'node:crypto';

import type { McpTool } from '../../contracts/mcp';
import { canonicalJson } from '../../util/json';
import type { Statement } from '../statement';

/**
 * Writes a server's list and decides on each tool. The first list of all is trusted; from then on the server's
 * policy holds. Two writers at once do the same work twice, in the order of the link's row.
 */
const TEXT = `
WITH link AS (
  SELECT own.listed_at IS NULL OR server.on_tool_change = 'accept' AS is_trusted
  FROM elo_t_tenant_mcp_servers AS own
  JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
  WHERE own.tenant_id = $1::uuid AND own.server_id = $2
  FOR UPDATE OF own
), marked AS (
  UPDATE elo_t_tenant_mcp_servers SET
    listed_at = now(), list_expires_at = now() + $3::float8 * interval '1 millisecond'
  WHERE tenant_id = $1::uuid AND server_id = $2 AND EXISTS (SELECT FROM link)
), gone AS (
  UPDATE elo_t_tenant_mcp_tools AS tool SET position = NULL
  WHERE tool.tenant_id = $1::uuid AND tool.server_id = $2 AND tool.position IS NOT NULL
    AND NOT EXISTS (SELECT FROM json_array_elements($4::json) AS listed WHERE listed ->> 'name' = tool.name)
)
INSERT INTO elo_t_tenant_mcp_tools AS tool
  (tenant_id, server_id, name, description, input_schema, is_repeatable, hash, approved_hash, position)
SELECT $1::uuid, $2, listed.name, listed.description, listed.input_schema, listed.is_repeatable, listed.hash,
  CASE WHEN link.is_trusted THEN listed.hash END, listed.position
FROM json_to_recordset($4::json) AS listed (
  name TEXT, description TEXT, input_schema JSON, is_repeatable BOOLEAN, hash TEXT, position INT
), link
ON CONFLICT (tenant_id, server_id, name) DO UPDATE SET
  description = EXCLUDED.description, input_schema = EXCLUDED.input_schema,
  is_repeatable = EXCLUDED.is_repeatable, hash = EXCLUDED.hash, position = EXCLUDED.position,
  approved_hash = coalesce(EXCLUDED.approved_hash, tool.approved_hash), updated_at = now()
RETURNING name, approved_hash IS DISTINCT FROM hash AS is_quarantined`;

export interface SavedToolRow {
  readonly name: string;
  readonly is_quarantined: boolean;
}

export function saveMcpToolsStatement(request: {
  readonly tenantId: string;
  readonly serverId: number;
  readonly tools: readonly McpTool[];
  readonly ttlMs: number;
}): Statement {
  const listed = request.tools.map((tool, position) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema,
    is_repeatable: tool.isRepeatable,
    hash: toolHash(tool),
    position,
  }));
  return {
    tenantId: request.tenantId,
    text: TEXT,
    values: [request.tenantId, request.serverId, request.ttlMs, JSON.stringify(listed)],
  };
}

/** What an approval holds for: everything of a tool that the model reads or that changes how it is called. */
function toolHash({ name, description, inputSchema, isRepeatable }: McpTool): string {
  return createHash('sha256')
    .update(canonicalJson([name, description, inputSchema, isRepeatable]))
    .digest('hex');
}

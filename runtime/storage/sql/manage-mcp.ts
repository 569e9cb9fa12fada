import type { JsonObject } from '../../util/json';
import type { Statement } from '../statement';

export interface AddedServer {
  readonly url: string;
  readonly transport: string;
}

/**
 * Registers a server where there is none of this name, and lets the tenant use it. No row: there is no such tenant.
 * A server of the same name keeps its address; the caller compares it.
 */
export function addMcpServerStatement(request: {
  readonly tenantId: string;
  readonly name: string;
  readonly url: string;
  readonly transport: string;
  readonly auth?: JsonObject;
  readonly policy?: string;
}): Statement {
  const { tenantId, name, url, transport, auth, policy } = request;
  return {
    text: `
WITH added AS (
  INSERT INTO elo_agent_mcp_servers AS known (code, url, transport, on_tool_change)
  SELECT $2, $3, $4, coalesce($6, 'accept') WHERE EXISTS (SELECT FROM elo_v_agent_tenants WHERE id = $1::uuid)
  ON CONFLICT (code) DO UPDATE SET
    on_tool_change = CASE
      WHEN known.url = EXCLUDED.url AND known.transport = EXCLUDED.transport THEN coalesce($6, known.on_tool_change) ELSE known.on_tool_change
    END
  RETURNING id, url, transport
), used AS (
  INSERT INTO elo_t_tenant_mcp_servers AS own (tenant_id, server_id, auth)
  SELECT $1::uuid, id, $5::jsonb FROM added WHERE url = $3 AND transport = $4
  ON CONFLICT (tenant_id, server_id) DO UPDATE SET
    is_enabled = true, auth = coalesce(EXCLUDED.auth, own.auth), list_expires_at = NULL
)
SELECT url, transport FROM added`,
    values: [tenantId, name, url, transport, auth === undefined ? null : JSON.stringify(auth), policy ?? null],
  };
}

/** Approves the tools of a tenant's server as they are now: those named, else all of them. */
export function approveMcpToolsStatement(request: {
  readonly tenantId: string;
  readonly server: string;
  readonly tools?: readonly string[];
}): Statement {
  return {
    text: `
UPDATE elo_t_tenant_mcp_tools AS tool SET approved_hash = tool.hash, updated_at = now()
FROM elo_agent_mcp_servers AS server
WHERE server.id = tool.server_id AND server.code = $2 AND tool.tenant_id = $1::uuid
  AND tool.position IS NOT NULL AND tool.approved_hash IS DISTINCT FROM tool.hash
  AND ($3::text[] IS NULL OR tool.name = ANY ($3))
RETURNING tool.name`,
    values: [request.tenantId, request.server, request.tools ?? null],
  };
}

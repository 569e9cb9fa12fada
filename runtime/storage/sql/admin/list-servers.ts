import type { OAuthStateRow } from '../../../contracts/tools/vault';
import type { JsonValue } from '../../../util/json';
import { named } from '../named';

/** An MCP server of a tenant. Of a credential only its kind is told. */
export interface ServerEntry {
  readonly server: string;
  readonly url: string;
  readonly transport: string;
  readonly is_enabled: boolean;
  /** `none`, `bearer`, `headers` or `oauth`. */
  readonly auth: string;
  readonly has_own_auth: boolean;
  readonly has_login: boolean;
  readonly on_tool_change: string;
  readonly allowed_tiers: JsonValue;
  readonly tools: number;
  /** New or changed, and not approved. */
  readonly quarantined: number;
  readonly listed_at: Date | null;
}

export const listServers = named<{ readonly tenantId: string }>(`
SELECT server.code AS server, server.url, server.transport, own.is_enabled AND server.is_active AS is_enabled,
  coalesce(own.auth ->> 'kind', server.auth ->> 'kind', 'none') AS auth, own.auth IS NOT NULL AS has_own_auth,
  own.oauth_state IS NOT NULL AS has_login, server.on_tool_change, to_jsonb(server.allowed_tiers) AS allowed_tiers,
  count(tool.name)::int AS tools,
  count(tool.name) FILTER (
    WHERE server.on_tool_change = 'quarantine' AND tool.approved_hash IS DISTINCT FROM tool.hash
  )::int AS quarantined, own.listed_at
FROM elo_t_tenant_mcp_servers AS own
JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
LEFT JOIN elo_t_tenant_mcp_tools AS tool
  ON tool.tenant_id = own.tenant_id AND tool.server_id = own.server_id AND tool.position IS NOT NULL
WHERE own.tenant_id = :tenantId::uuid
GROUP BY server.id, own.tenant_id, own.server_id
ORDER BY server.sort_order, server.code`);

interface OfServer {
  readonly tenantId: string;
  readonly server: string;
}

/** Takes a server from a tenant; it is forgotten when it was the last one's. No row: the tenant does not use it. */
export const removeServer = named<OfServer>(`
WITH server AS (SELECT id FROM elo_agent_mcp_servers WHERE code = :server),
taken AS (
  DELETE FROM elo_t_tenant_mcp_servers AS own USING server
  WHERE own.server_id = server.id AND own.tenant_id = :tenantId::uuid RETURNING own.server_id
), forgotten AS (
  DELETE FROM elo_agent_mcp_servers AS unused USING taken
  WHERE unused.id = taken.server_id AND NOT EXISTS (
    SELECT FROM elo_t_tenant_mcp_servers AS other
    WHERE other.server_id = taken.server_id AND other.tenant_id <> :tenantId::uuid
  ) RETURNING unused.id
)
SELECT EXISTS (SELECT FROM forgotten) AS is_forgotten FROM taken`);

/** Every process makes new connections to the tenant's servers, or to one, and asks for their lists anew. */
export const resetConnections = named<{ readonly tenantId: string; readonly server?: string }>(`
UPDATE elo_t_tenant_mcp_servers AS own SET list_expires_at = NULL, resets = own.resets + 1 FROM elo_agent_mcp_servers AS server
WHERE server.id = own.server_id AND own.tenant_id = :tenantId::uuid AND (:server::text IS NULL OR server.code = :server)
RETURNING server.code AS server`);

/** A login of a tenant at a server. No token is told. */
export interface LoginRow extends OAuthStateRow {
  readonly url: string;
}

export const listLogins = named<{ readonly tenantId?: string }>(`
SELECT own.tenant_id::text AS tenant_id, own.server_id, server.code AS server, server.url, own.oauth_state AS state
FROM elo_t_tenant_mcp_servers AS own JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
WHERE own.oauth_state IS NOT NULL AND (:tenantId::uuid IS NULL OR own.tenant_id = :tenantId::uuid)
ORDER BY server.code, own.tenant_id LIMIT 1000`);

/** Connections that hold a token are used no more, in whichever process. */
export const forgetLogin = named<OfServer>(`
UPDATE elo_t_tenant_mcp_servers AS own SET oauth_state = NULL, resets = own.resets + 1 FROM elo_agent_mcp_servers AS server
WHERE server.id = own.server_id AND server.code = :server AND own.tenant_id = :tenantId::uuid
  AND own.oauth_state IS NOT NULL
RETURNING server.code`);

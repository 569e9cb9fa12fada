-- Writes a server's list and decides on each tool. The first list of all is trusted; from then on the server's
-- policy holds. Two writers at once do the same work twice, in the order of the link's row.
WITH link AS (
  SELECT own.listed_at IS NULL OR server.on_tool_change = 'accept' AS is_trusted
  FROM elo_t_tenant_mcp_servers AS own
  JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
  WHERE own.tenant_id = :tenantId::uuid AND own.server_id = :serverId
  FOR UPDATE OF own
), marked AS (
  UPDATE elo_t_tenant_mcp_servers SET
    listed_at = now(), list_expires_at = now() + :ttlMs::float8 * interval '1 millisecond'
  WHERE tenant_id = :tenantId::uuid AND server_id = :serverId AND EXISTS (SELECT FROM link)
), gone AS (
  UPDATE elo_t_tenant_mcp_tools AS tool SET position = NULL
  WHERE tool.tenant_id = :tenantId::uuid AND tool.server_id = :serverId AND tool.position IS NOT NULL
    AND NOT EXISTS (SELECT FROM json_array_elements(:listed::json) AS listed WHERE listed ->> 'name' = tool.name)
)
INSERT INTO elo_t_tenant_mcp_tools AS tool
  (tenant_id, server_id, name, description, input_schema, is_repeatable, is_read_only, hash, approved_hash, position)
SELECT :tenantId::uuid, :serverId, listed.name, listed.description, listed.input_schema, listed.is_repeatable,
  listed.is_read_only, listed.hash,
  CASE WHEN link.is_trusted THEN listed.hash END, listed.position
FROM json_to_recordset(:listed::json) AS listed (
  name TEXT, description TEXT, input_schema JSON, is_repeatable BOOLEAN, is_read_only BOOLEAN, hash TEXT, position INT
), link
ON CONFLICT (tenant_id, server_id, name) DO UPDATE SET
  description = EXCLUDED.description, input_schema = EXCLUDED.input_schema,
  is_repeatable = EXCLUDED.is_repeatable, is_read_only = EXCLUDED.is_read_only, hash = EXCLUDED.hash, position = EXCLUDED.position,
  approved_hash = coalesce(EXCLUDED.approved_hash, tool.approved_hash), updated_at = now()
RETURNING name, approved_hash IS DISTINCT FROM hash AS is_quarantined

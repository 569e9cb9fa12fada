import type { McpStore } from '../../contracts/tools/mcp';
import { type SavedToolRow, saveMcpToolsStatement } from '../sql/save-mcp-tools';
import type { Query } from '../statement';

/** What is known of the tenants' MCP servers, in Postgres. */
export function createMcpStore(query: Query): McpStore {
  return {
    saveTools: async (request) => {
      const rows = await query<SavedToolRow>(await saveMcpToolsStatement(request));
      const quarantined = new Map(rows.map((row) => [row.name, row.is_quarantined]));
      // A tool that was not written belongs to a server that was taken away meanwhile.
      return request.tools.map((tool) => ({ ...tool, isQuarantined: quarantined.get(tool.name) ?? true }));
    },
    loadOAuth: async ({ tenantId, serverId }) => {
      const [row] = await query<{ state: string | null }>({
        text: `SELECT oauth_state AS state FROM elo_t_tenant_mcp_servers
          WHERE tenant_id = $1::uuid AND server_id = $2`,
        values: [tenantId, serverId],
      });
      return row?.state ?? undefined;
    },
    saveOAuth: async ({ tenantId, serverId, state, loaded }) => {
      const rows = await query({
        tenantId,
        text: `UPDATE elo_t_tenant_mcp_servers SET oauth_state = $3
          WHERE tenant_id = $1::uuid AND server_id = $2 AND oauth_state IS NOT DISTINCT FROM $4
          RETURNING server_id`,
        values: [tenantId, serverId, state, loaded ?? null],
      });
      return rows.length > 0;
    },
  };
}

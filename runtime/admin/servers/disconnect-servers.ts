import { RuntimeError } from '../../errors/runtime-error';
import { removeServer as removeStatement, resetConnections } from '../../storage/sql/admin/list-servers';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { serverField, tenantIdField } from '../read-input';

export const disconnectServers = operation({
  name: 'mcpServer.disconnect',
  title: 'Disconnect',
  action: 'Disconnect MCP servers',
  description: 'Make every process open new connections with its next call',
  needs: ['vault'],
  input: strictObject({ tenantId: tenantIdField, server: serverField.optional() }),
  run: async ({ postgres: { query }, tenantTools }, given) => {
    const { tenantId, server } = given;
    await checkTenant(query, tenantId);
    const rows = await query<{ server: string }>(resetConnections(given));
    if (rows.length === 0 && server !== undefined) throw new RuntimeError('MCP_SERVER_UNKNOWN', { tenantId, server });
    // Those of this process need not wait until they are idle.
    await tenantTools.disconnect(given).catch(() => []);
    return { disconnected: rows.map((row) => row.server) };
  },
});

export const removeServer = operation({
  name: 'mcpServer.remove',
  title: 'Remove',
  action: 'Remove an MCP server',
  description: 'Take the server from the tenant',
  input: strictObject({ tenantId: tenantIdField, server: serverField }),
  run: async ({ postgres: { query }, tenantTools }, given) => {
    await tenantTools.disconnect(given).catch(() => []);
    const rows = await query(removeStatement(given));
    if (rows.length === 0) throw new RuntimeError('MCP_SERVER_UNKNOWN', given);
    return { server: given.server, removed: true as const };
  },
});

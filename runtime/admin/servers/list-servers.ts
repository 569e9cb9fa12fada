import { listServers as listStatement, type ServerEntry } from '../../storage/sql/admin/list-servers';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';

export const listServers = operation({
  name: 'mcpServer.list',
  title: 'List',
  action: 'List MCP servers',
  description: 'The servers of a tenant, without asking them',
  lists: 'servers',
  input: strictObject({ tenantId: tenantIdField }),
  run: async ({ postgres: { query } }, { tenantId }) => {
    await checkTenant(query, tenantId);
    return { servers: await query<ServerEntry>(listStatement({ tenantId })) };
  },
});

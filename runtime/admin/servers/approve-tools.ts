import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { listServers, type ServerEntry } from '../../storage/sql/admin/list-servers';
import { approveMcpToolsStatement } from '../../storage/sql/manage-mcp';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { serverField, tenantIdField } from '../read-input';

export const approveTools = operation({
  name: 'mcpServer.approve',
  title: 'Approve',
  action: 'Approve the tools of an MCP server',
  description: 'Approve tools that are new or changed',
  input: strictObject({
    tenantId: tenantIdField,
    server: serverField,
    tools: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .meta({ whole: true, group: 'more', description: 'Only these tools. Without this field all of them.' }),
  }),
  run: async ({ postgres: { query } }, given) => {
    const { tenantId, server } = given;
    const servers = await query<ServerEntry>(listServers({ tenantId }));
    if (!servers.some((one) => one.server === server)) {
      throw new RuntimeError('MCP_SERVER_UNKNOWN', { tenantId, server });
    }
    const rows = await query<{ name: string }>(approveMcpToolsStatement(given));
    return { approved: rows.map(({ name }) => name) };
  },
});

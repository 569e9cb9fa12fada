import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { type McpServerDefaults, readMcpServer } from '../../mcp/read-server';
import { type AddedServer, addMcpServerStatement } from '../../storage/sql/manage-mcp';
import { strictObject } from '../../util/known-keys';
import { checkAddress } from '../check-address';
import { operation } from '../operation';
import { objectField, tenantIdField } from '../read-input';

export const addServer = operation({
  name: 'mcpServer.add',
  title: 'Add',
  action: 'Add an MCP server',
  description: 'Register a server and let the tenant use it',
  input: strictObject({
    tenantId: tenantIdField,
    name: z.string(),
    url: z.string().max(2000),
    transport: z.enum(['http', 'sse', 'websocket', 'stdio']).default('http'),
    auth: objectField.optional(),
    onToolChange: z.enum(['accept', 'quarantine']).optional(),
  }),
  run: async ({ postgres: { query }, serverDefaults }, { onToolChange, ...given }, host) => {
    checkServer(given, serverDefaults);
    if (given.transport !== 'stdio') await checkAddress(given.url, host);
    const [added] = await query<AddedServer>(addMcpServerStatement({ ...given, policy: onToolChange }));
    const { tenantId, name, url, transport } = given;
    if (added === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
    if (added.url !== url || added.transport !== transport) {
      throw new RuntimeError('MCP_SERVER_EXISTS', { server: name, url: added.url });
    }
    return { server: name, url, transport };
  },
});

function checkServer(given: Parameters<typeof readMcpServer>[0], defaults: McpServerDefaults): void {
  try {
    readMcpServer(given, defaults);
  } catch (error) {
    throw new RuntimeError('MCP_SERVER_INVALID', { server: given.name, reason: errorText(error) });
  }
}

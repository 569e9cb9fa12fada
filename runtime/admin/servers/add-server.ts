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
    name: z
      .string()
      .meta({ placeholder: 'shop', description: 'Stands before the names of its tools, as in shop_search' }),
    url: z.string().max(2000).meta({ placeholder: 'https://mcp.example.com/mcp', description: '' }),
    // An n8n of others must not start programs.
    transport: z
      .enum(['http', 'sse', 'websocket', 'stdio'])
      .default('http')
      .meta({
        group: 'more',
        names: { http: 'HTTP', sse: 'Server-Sent Events', websocket: 'WebSocket' },
        description: '',
      }),
    auth: objectField.optional().meta({
      group: 'more',
      title: 'Authentication',
      initial: '{ "kind": "bearer", "token": "vault:NAME" }',
      description: 'The credential as JSON; name secrets of the vault in it',
    }),
    onToolChange: z
      .enum(['accept', 'quarantine'])
      .optional()
      .meta({
        group: 'more',
        names: { accept: 'Accept', quarantine: 'Quarantine Until Approved' },
        description: 'What happens with tools that are new or changed',
      }),
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

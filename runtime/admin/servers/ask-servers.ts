import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { serverField, tenantIdField } from '../read-input';
import { checkServers } from './check-servers';

const input = strictObject({ tenantId: tenantIdField, server: serverField.optional() });

export const refreshServers = operation({
  name: 'mcpServer.refresh',
  title: 'Refresh',
  action: 'Refresh the tools of MCP servers',
  description: 'Ask for lists of tools again',
  needs: ['vault'],
  lists: 'tools',
  input,
  run: async ({ postgres: { query }, tenantTools }, given, host) => {
    await checkServers(query, given, host);
    return tenantTools.refresh(given);
  },
});

export const checkServersHealth = operation({
  name: 'mcpServer.health',
  title: 'Health',
  action: 'Check MCP servers',
  description: 'Connect to each, and list its tools',
  needs: ['vault'],
  lists: 'servers',
  input,
  run: async ({ postgres: { query }, tenantTools }, given, host) => {
    await checkServers(query, given, host);
    return { servers: await tenantTools.health(given) };
  },
  isGood: ({ servers }) => servers.every(({ state }) => state === 'up'),
});

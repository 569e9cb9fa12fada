import * as z from 'zod/v4';

import { databaseStatus, migrate } from '../../storage/schema/migrate';
import { seedDemo } from '../../storage/schema/seed-demo';
import { strictObject } from '../../util/known-keys';
import { checkAddress } from '../check-address';
import { operation } from '../operation';
import { findRefusedRows } from './refused-rows';

export const prepareDatabase = operation({
  name: 'diagnostics.prepareDatabase',
  title: 'Prepare Database',
  action: 'Prepare the database',
  description: 'Create the tables, or bring them up to date; safe to repeat',
  input: strictObject({}),
  run: ({ withPatience }) => withPatience(migrate),
});

export const checkSchema = operation({
  name: 'diagnostics.schema',
  title: 'Check Schema',
  action: 'Check the database schema',
  description: 'What is applied and what is missing, and rows that no run could read',
  input: strictObject({}),
  run: async ({ postgres, serverDefaults }) => {
    const status = await databaseStatus(postgres);
    // Rows can be read as soon as every table is there.
    return status.isReady ? { ...status, refusedRows: await findRefusedRows(postgres.query, serverDefaults) } : status;
  },
  isGood: ({ isReady }) => isReady,
});

const address = z.url({ protocol: /^https?$/ }).optional();

export const addDemoTenant = operation({
  name: 'diagnostics.addDemoTenant',
  title: 'Add Demo Tenant',
  action: 'Add a demo tenant',
  description: 'A tenant to try things with',
  input: strictObject({
    toolServer: address.meta({
      placeholder: 'https://n8n.example.com/webhook/demo',
      description: "Where the demo tenant's tools are. Empty is right for the servers of the demo.",
    }),
    mcpServer: address.meta({
      placeholder: 'https://mcp.example.com/mcp',
      description: "The whole address of the demo tenant's MCP server. Empty is right for the servers of the demo.",
    }),
  }),
  run: async ({ postgres }, servers, host) => {
    for (const one of [servers.toolServer, servers.mcpServer]) await checkAddress(one, host);
    return seedDemo(postgres, servers);
  },
});

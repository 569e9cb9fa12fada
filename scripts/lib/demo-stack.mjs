import { startStandInModel } from '../../examples/demo/stand-in-model.mjs';
import { startHookServer, startMcpServer } from '../../examples/demo/tool-servers.mjs';
import { commandLine } from './command-line.mjs';
import { readExample } from './examples.mjs';
import { startN8n } from './n8n-host.mjs';
import { buildPackage } from './package.mjs';
import { startPostgres } from './postgres.mjs';
import { postgresCredential } from './postgres-credential.mjs';

/**
 * Postgres with the tenants of `diagnostics add-demo-tenant`, tool servers, a model, and a real n8n with our packed node and the example workflows.
 * @param {{ log: (line: string) => void, model?: { apiKey: string, url: string } }} options without `model`, the stand-in answers
 */
export async function startDemoStack({ log, model }) {
  log('Building and packing the node …');
  const packageTarball = buildPackage();
  log('Starting Postgres, the tool servers and the model …');
  const postgres = await startPostgres({ log });
  const databaseUrl = await postgres.createDatabase('agent');
  const modelRequests = [];
  const [hook, mcp, standIn] = await Promise.all([
    startHookServer(),
    startMcpServer(),
    startStandInModel({ onRequest: (request) => modelRequests.push(request) }),
  ]);
  const env = { DATABASE_URL: databaseUrl };
  await commandLine(['diagnostics', 'prepare-database'], { env });
  const servers = ['--tool-server', hook.url, '--mcp-server', `${mcp.url}/mcp`];
  const { tenants } = await commandLine(['diagnostics', 'add-demo-tenant', ...servers], { env });

  log('Starting n8n with the packed node (about half a minute) …');
  const n8n = await startN8n({ postgresUrl: await postgres.createDatabase('n8n'), packageTarball, log });
  const credentials = await createCredentials(n8n, databaseUrl, model ?? { apiKey: 'no-key-needed', url: standIn.url });
  return {
    n8n,
    databaseUrl,
    env,
    tenants: tenants.map(({ tenant_id: id, name }) => ({ id, name })),
    hookUrl: hook.url,
    mcpUrl: `${mcp.url}/mcp`,
    credentials,
    modelRequests,
    hasStandIn: model === undefined,
    /** Imports a file of examples/workflows with this n8n's credentials, and activates it. */
    importExample: async (file) => {
      const { id } = await n8n.createWorkflow(readExample(file, credentials));
      await n8n.activate(id);
      return id;
    },
    stop: async () => {
      await n8n.stop();
      await Promise.all([hook.close(), mcp.close(), standIn.close()]);
      await postgres.stop();
    },
  };
}

async function createCredentials(n8n, databaseUrl, { apiKey, url }) {
  return {
    openRouterApi: {
      id: await n8n.createCredential({ name: 'OpenRouter', type: 'openRouterApi', data: { apiKey, url } }),
      name: 'OpenRouter',
    },
    postgres: {
      id: await n8n.createCredential({ name: 'Postgres', type: 'postgres', data: postgresCredential(databaseUrl) }),
      name: 'Postgres',
    },
  };
}

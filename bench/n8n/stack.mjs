// Everything that the workflows need: Postgres, the two servers, our packed node, and one n8n an expression engine.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ensureHostInstalled, startN8n } from '../../scripts/lib/n8n-host.mjs';
import { buildPackage } from '../../scripts/lib/package.mjs';
import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { onProcessExit } from '../../scripts/lib/process-exit.mjs';
import { startProcess } from '../loop/start-process.mjs';
import { installBareLoop } from './bare-loop-package.mjs';
import { processorClock } from './n8n-processor-time.mjs';
import { seedTenant } from './seed.mjs';
import { workflowOf } from './workflows.mjs';

/** What is the same for both engines. */
export async function startServers({ packageFile, modelServer = new URL('model-server.mjs', import.meta.url), log }) {
  await ensureHostInstalled({ log });
  log('building and packing the node');
  const packageTarball = packageFile ?? buildPackage();
  log('starting Postgres and the servers');
  const postgres = await startPostgres();
  const model = startProcess(modelServer);
  const tool = startProcess(new URL('tool-server.mjs', import.meta.url));
  const stop = async () => {
    for (const child of [model, tool]) child.stop();
    await postgres.stop();
  };
  try {
    const [modelUrl, toolUrl] = (await Promise.all([model.nextMessage(), tool.nextMessage()])).map(
      ({ port }) => `http://127.0.0.1:${port}`,
    );
    const databaseUrl = await postgres.createDatabase('agent');
    await seedTenant(databaseUrl, toolUrl);
    return { packageTarball, postgres, model, tool, modelUrl: `${modelUrl}/v1`, toolUrl, databaseUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An n8n with a database of its own, in which the workflows of all subjects listen. */
export async function startEngine(servers, { engine, subjects, nodeOptions, log }) {
  log(`starting n8n with the ${engine} expression engine`);
  const { userFolder, remove } = makeUserFolder();
  let n8n;
  try {
    await installBareLoop(userFolder);
    n8n = await startN8n({
      postgresUrl: await servers.postgres.createDatabase(`n8n_${engine}`),
      packageTarball: servers.packageTarball,
      userFolder,
      env: engine === 'default' ? {} : { N8N_EXPRESSION_ENGINE: engine },
      nodeOptions,
      log: () => {},
    });
    const credentials = await createCredentials(n8n, servers);
    for (const subject of subjects) {
      const { id } = await n8n.createWorkflow(workflowOf(subject, { ...servers, credentials }));
      await n8n.activate(id);
    }
  } catch (error) {
    await n8n?.stop();
    remove();
    throw error;
  }
  const stop = async () => {
    await n8n.stop();
    remove();
  };
  return { baseUrl: n8n.baseUrl, logText: n8n.logText, processorMs: processorClock(), stop };
}

/** Made here, not by startN8n, because the bare loop has to be in it before the start. */
function makeUserFolder() {
  const userFolder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-bench-'));
  const removeNow = () => rmSync(userFolder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const withdraw = onProcessExit(removeNow);
  const remove = () => {
    withdraw();
    removeNow();
  };
  return { userFolder, remove };
}

async function createCredentials(n8n, { databaseUrl, modelUrl }) {
  const create = async (type, data) => ({ id: await n8n.createCredential({ name: type, type, data }), name: type });
  return {
    openRouterApi: await create('openRouterApi', { apiKey: 'bench-key', url: modelUrl }),
    postgres: await create('postgres', postgresCredential(databaseUrl)),
  };
}

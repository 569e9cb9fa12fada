// A Postgres with two tenants that have the same 200 tools: one in the database, one on ten MCP servers.
import { execFileSync, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import pg from 'pg';

import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { runtimePath } from '../loop/our-runtime.mjs';

const SERVERS = 10;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** @returns {Promise<{ port: number, stop: () => void }>} */
export async function startServers() {
  const child = fork(here('servers-process.mjs'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const port = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(Number(text))));
  return { port, stop: () => child.kill() };
}

/** Our pool alone, without runtime, database and model. */
export async function loadPool() {
  const outfile = here('../../.cache/bench-mcp-pool.cjs');
  await build({
    entryPoints: [here('../../runtime/mcp/mcp-servers.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
  return createRequire(import.meta.url)(outfile);
}

export async function startDatabase(serverPort) {
  const postgres = await startPostgres();
  const cli = runtimePath.replace('index.js', 'cli.js');
  execFileSync(process.execPath, [cli, 'diagnostics', 'prepare-database'], {
    env: { ...process.env, DATABASE_URL: postgres.url },
  });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const tenants = await seed(client, serverPort);
  await client.end();
  return { url: postgres.url, ...tenants, stop: () => postgres.stop() };
}

async function seed(client, port) {
  const list = await fetch(`http://127.0.0.1:${port}/mcp/0`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const { tools } = (await list.json()).result;
  const addTenant = async (name) =>
    (await client.query('INSERT INTO elo_t_tenants (name) VALUES ($1) RETURNING id', [name])).rows[0].id;
  const [database, mcp] = [await addTenant('database'), await addTenant('mcp')];
  for (let server = 0; server < SERVERS; server++) {
    const { rows } = await client.query('INSERT INTO elo_agent_mcp_servers (code, url) VALUES ($1, $2) RETURNING id', [
      `s${server}`,
      `http://127.0.0.1:${port}/mcp/${server}`,
    ]);
    await client.query('INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id) VALUES ($1, $2)', [
      mcp,
      rows[0].id,
    ]);
    for (const tool of tools) {
      const added = await client.query(
        `INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint)
         VALUES ($1, $1, $2, $3, 'http://127.0.0.1:9/hook') RETURNING id`,
        [`s${server}_${tool.name}`, tool.description, JSON.stringify(tool.inputSchema)],
      );
      await client.query('INSERT INTO elo_t_tenant_tools (tenant_id, tool_id) VALUES ($1, $2)', [
        database,
        added.rows[0].id,
      ]);
    }
  }
  return { database, mcp };
}

// What both workers work on: a real Redis, a real Postgres with tenants and prices, and the model server.
import { execFileSync } from 'node:child_process';

import pg from 'pg';

import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { startRedis } from '../../test/support/servers/redis.ts';
import { runtimePath } from '../loop/our-runtime.mjs';
import { startProcess } from '../loop/start-process.mjs';
import { MODEL_ID, TIER, TOOL } from './scenario.mjs';

export const cliPath = runtimePath.replace('index.js', 'cli.js');
const TENANTS = 10;

/**
 * @param {{ appendfsync: 'no' | 'everysec' | 'always', fsync: boolean }} options how safe Redis and Postgres keep what is
 *   written
 */
export async function startStack({ appendfsync, fsync }) {
  const settings = appendfsync === 'no' ? [] : ['--appendonly', 'yes', '--appendfsync', appendfsync];
  const [redis, postgres, model] = await Promise.all([
    startRedis({ settings }),
    startPostgres({ fsync }),
    startModel(),
  ]);
  execFileSync(process.execPath, [cliPath, 'diagnostics', 'prepare-database'], {
    env: { ...process.env, DATABASE_URL: postgres.url },
    stdio: 'ignore',
  });
  const ask = (work) => withClient(postgres.url, work);
  const tenants = await ask((database) => seed(database, model.url));
  return {
    redis: redis.client,
    redisUrl: (number) => redis.url.replace(/\/0$/, `/${number}`),
    databaseUrl: postgres.url,
    model,
    tenants,
    /** Lines of the bill: one a task that our worker has done, however often it was tried. */
    billed: () =>
      ask(async (database) => Number((await database.query('SELECT count(*) FROM elo_t_token_usage')).rows[0].count)),
    stop: async () => {
      model.stop();
      await Promise.all([redis.close(), postgres.stop()]);
    },
  };
}

async function withClient(connectionString, work) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function startModel() {
  const server = startProcess(new URL('model-server.mjs', import.meta.url));
  const { port } = await server.nextMessage();
  return {
    url: `http://127.0.0.1:${port}`,
    /** Sets the thinking time and forgets what was counted. */
    setLatency: (latency) => server.ask({ latency }),
    /** What was counted since the last question. */
    counts: () => server.ask({}),
    stop: server.stop,
  };
}

/** Tenants without tools, and as many with one; both with a limit, so that the month's sum is kept. */
async function seed(database, modelUrl) {
  await database.query('UPDATE elo_agent_tiers SET model_id = $1 WHERE code = $2', [MODEL_ID, TIER]);
  await database.query(
    'INSERT INTO elo_model_pricing (model_id, input_cost_per_1m, output_cost_per_1m) VALUES ($1, 0.15, 0.6)',
    [MODEL_ID],
  );
  const { rows } = await database.query(
    `INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint)
     VALUES ($1, $1, $2, $3, $4) RETURNING id`,
    [TOOL.name, TOOL.description, TOOL.parameters, `${modelUrl}/tool`],
  );
  const settings = { monthly_cost_limit_usd: '1000000' };
  const add = async (name) =>
    (await database.query('INSERT INTO elo_t_tenants (name, settings) VALUES ($1, $2) RETURNING id', [name, settings]))
      .rows[0].id;
  const tenants = { plain: [], withTool: [] };
  for (let number = 0; number < TENANTS; number += 1) {
    tenants.plain.push(await add(`plain ${number}`));
    const id = await add(`with a tool ${number}`);
    await database.query('INSERT INTO elo_t_tenant_tools (tenant_id, tool_id) VALUES ($1, $2)', [id, rows[0].id]);
    tenants.withTool.push(id);
  }
  return tenants;
}

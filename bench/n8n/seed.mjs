// The tenant of the runs that go through our node: ten tools behind the tool server, and a money limit.
import pg from 'pg';

import { commandLine } from '../../scripts/lib/command-line.mjs';
import { TENANT_ID, tools } from './subjects.mjs';

const INSERT_TENANT = 'INSERT INTO elo_t_tenants (id, name, settings) VALUES ($1, $2, $3)';
const INSERT_TOOL = `
WITH tool AS (
  INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint, sort_order)
  VALUES ($2, $2, $3, $4, $5, $6) RETURNING id
)
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, is_enabled) SELECT $1, id, true FROM tool`;

export async function seedTenant(databaseUrl, toolUrl) {
  await commandLine(['diagnostics', 'prepare-database'], { env: { DATABASE_URL: databaseUrl } });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(INSERT_TENANT, [TENANT_ID, 'Benchmark', JSON.stringify({ monthly_cost_limit_usd: 100000 })]);
    for (const [index, { name, description, parameters }] of tools.entries()) {
      const values = [TENANT_ID, name, description, JSON.stringify(parameters), toolUrl, index];
      await client.query(INSERT_TOOL, values);
    }
  } finally {
    await client.end();
  }
}

/** Runs and billing lines that our node has written: as many as there were executions of it. */
export async function countBilledRuns(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT count(*)::int AS runs FROM elo_agent_runs AS run JOIN elo_t_token_usage AS line USING (tenant_id, task_id)
       WHERE run.state = 'done' AND line.model_calls = 6 AND line.cost_usd > 0`,
    );
    return rows[0].runs;
  } finally {
    await client.end();
  }
}

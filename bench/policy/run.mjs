// What policy, validation, reservation and audit cost a run, beside the same run without them. Real Postgres; the model
// is a process of its own, so that only our own processor time counts. `--quick` only shows that it works.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import pg from 'pg';

import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { requireRuntime, runtimePath, toRuntimeTools } from '../loop/our-runtime.mjs';
import { createTools, MODEL_ID, SYSTEM_PROMPT, toolName, USER_MESSAGE } from '../loop/scenario.mjs';
import { startModelServer } from '../loop/start-process.mjs';
import { medianOf, spreadOf } from '../loop/statistics.mjs';

const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 3 : 25;
const RUNS = isQuick ? 10 : 60;
const BAR = 1.15;
const TOOLS = 10;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The ledger store of the source, to be wrapped. */
async function loadLedger() {
  const outfile = here('../../.cache/bench-policy-ledger.cjs');
  await build({
    stdin: {
      contents: `export { createLedgerStore } from './runtime/storage/postgres/ledger/ledger-store';
        export { createPostgres } from './runtime/storage/postgres/pool';`,
      resolveDir: here('../..'),
      loader: 'ts',
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    loader: { '.sql': 'text' },
    external: ['pg-native'],
    logLevel: 'error',
  });
  return createRequire(import.meta.url)(outfile);
}

/** Every rule that a tool can have, none of which this run comes near. */
const rules = () => ({
  limits: { limit: { min: 1, max: 50 } },
  allowed_patterns: { order_id: ['A-*', '/[A-Z]-[0-9]+/'] },
  timeout_seconds: 20,
  rate_limit_per_minute: 1_000_000,
  rate_limit_per_day: 1_000_000_000,
  max_calls_per_run: 100,
});

async function seed(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`UPDATE elo_agent_tiers SET model_id = $1 WHERE code = 'small'`, [MODEL_ID]);
  await client.query(
    'INSERT INTO elo_model_pricing (model_id, input_cost_per_1m, output_cost_per_1m) VALUES ($1, 0.15, 0.6)',
    [MODEL_ID],
  );
  const add = async (name, settings) =>
    (await client.query('INSERT INTO elo_t_tenants (name, settings) VALUES ($1, $2) RETURNING id', [name, settings]))
      .rows[0].id;
  const names = Array.from({ length: TOOLS }, (_, index) => toolName(index));
  const plain = await add('plain', {});
  const ruled = await add('ruled', {
    monthly_cost_limit_usd: '1000000',
    monthly_token_limit: 1_000_000_000_000,
    tool_config: { enabled_tools: ['*'], tool_permissions: Object.fromEntries(names.map((name) => [name, rules()])) },
  });
  await client.end();
  return { plain, ruled };
}

const toPlainTools = (tools) =>
  toRuntimeTools(tools).map((tool) => ({ ...tool, parseInput: (value) => ({ ok: true, value }) }));

async function measure(run) {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (let index = 0; index < RUNS; index++) await run();
  const { user, system } = process.cpuUsage(cpu);
  return { wall: (performance.now() - startedAt) / RUNS, cpu: (user + system) / 1000 / RUNS };
}

const postgres = await startPostgres();
const models = await startModelServer();
execFileSync(process.execPath, [runtimePath.replace('index.js', 'cli.js'), 'diagnostics', 'prepare-database'], {
  env: { ...process.env, DATABASE_URL: postgres.url },
  stdio: 'ignore',
});
const tenants = await seed(postgres.url);
const { createLedgerStore, createPostgres } = await loadLedger();
const connection = createPostgres({ url: postgres.url, maxConnections: 10 });
const store = createLedgerStore(connection.query, { auditRetentionDays: 90 });
const { createRuntime } = requireRuntime();
const { tools, calls } = createTools(TOOLS);
const model = { apiKey: 'sk-bench', baseUrl: `${models.origin}/v1` };

const withoutRules = {
  ...store,
  claim: ({ reserve, ...request }) => store.claim(request),
  record: async ({ taking, audit, reserve, ...progress }) => {
    const { isOurs } = await store.record(progress);
    return { isOurs };
  },
};
const runtimes = {
  without: createRuntime({
    database: { url: postgres.url },
    model,
    plugins: { tools: toPlainTools(tools), ledger: withoutRules },
  }),
  with: createRuntime({ database: { url: postgres.url }, model, plugins: { tools: toRuntimeTools(tools) } }),
};
const runFor = (runtime, tenant) => async () => {
  const before = calls.correct;
  const result = await runtime.run({
    task_type: 'ai_agent',
    config: { agent_tier: 'small', system_prompt: SYSTEM_PROMPT, message: USER_MESSAGE },
    meta: { tenant_id: tenant },
  });
  if (result.status !== 'completed' || calls.correct !== before + 5) throw new Error(JSON.stringify(result));
};
const subjects = { without: runFor(runtimes.without, tenants.plain), with: runFor(runtimes.with, tenants.ruled) };

const samples = { without: [], with: [] };
for (const run of Object.values(subjects)) await measure(run);
for (let round = 0; round < ROUNDS; round++) {
  // In turn who is first, so that what the one leaves behind falls on both.
  const order = round % 2 === 0 ? ['without', 'with'] : ['with', 'without'];
  for (const name of order) samples[name].push(await measure(subjects[name]));
}
console.log(
  `Policy, validation, reservation and audit; ${TOOLS} tools, 5 tool steps, medians of ${ROUNDS} rounds of ${RUNS} runs. Node ${process.version}.`,
);
for (const [name, taken] of Object.entries(samples)) {
  const [wall, cpu] = ['wall', 'cpu'].map((key) => medianOf(taken.map((sample) => sample[key])));
  const spread = spreadOf(taken.map((sample) => sample.cpu));
  console.log(
    `  ${name.padEnd(8)} ${wall.toFixed(2)} ms, ${cpu.toFixed(2)} ms CPU (spread ${(spread * 100).toFixed(0)} %)`,
  );
}
const ratio = medianOf(samples.with.map(({ cpu }, index) => cpu / samples.without[index].cpu));
console.log(`  ratio ${ratio.toFixed(2)}x CPU; bar ${BAR}x: ${ratio <= BAR ? 'met' : 'MISSED'}`);

await Promise.all([...Object.values(runtimes).map((runtime) => runtime.close()), store.close(), connection.close()]);
models.stop();
await postgres.stop();

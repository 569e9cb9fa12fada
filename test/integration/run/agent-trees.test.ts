import { type AgentResult, createRuntime, type Runtime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

const TREES = 50;
const LIMIT_USD = 1;
/** Dollars for a million tokens in and out. */
const PRICE = 10;
const MODEL = 'test/dear';
const USAGE = { prompt: 400, completion: 100, model: MODEL };
const COST_OF_CALL = (500 * PRICE) / 1e6;
const MAX_TOKENS = 200;
/** A prompt of 500 tokens and two results of tools of 4,000 tokens each, and the longest reply. */
const RESERVATION = ((500 + 2 * 4000 + MAX_TOKENS) * PRICE) / 1e6;

let fixture: AgentFixture;
const others: Runtime[] = [];

beforeAll(async () => {
  fixture = await startAgentFixture();
  await fixture.database.query(
    `INSERT INTO elo_model_pricing (model_id, provider, input_cost_per_1m, output_cost_per_1m) VALUES ($1, 'test', $2, $2)`,
    [MODEL, PRICE],
  );
  await fixture.database.query(
    `INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, rank) VALUES ('dear', 'Dear', $1, $2, 50)`,
    [MODEL, MAX_TOKENS],
  );
});
afterAll(async () => {
  await Promise.all(others.map((runtime) => runtime.close()));
  await fixture.close();
});

/** Each agent asks the next one twice in one step, and then answers. */
const LEVELS = ['lead', 'second', 'third', 'last'];

it('fifty trees of agents three levels deep spend one dollar, and at most one reservation more', async () => {
  const settings = { monthly_cost_limit_usd: LIMIT_USD, default_tier: 'dear' };
  const tenantId = await addTenant(fixture.database, { settings });
  for (const [level, name] of [...LEVELS.entries()].reverse()) {
    const subAgents = LEVELS.slice(level + 1, level + 2);
    await fixture.runtime.admin.agent.create({ tenantId, name, systemPrompt: name, tools: [], subAgents });
  }
  fixture.models.always(({ messages }) => {
    const next = LEVELS[LEVELS.indexOf(messages[0]?.content ?? '') + 1];
    if (next === undefined || messages.at(-1)?.role === 'tool') return textReply('Done', USAGE).body;
    const call = (n: number) => ({ name: `ask_${next}`, arguments: { message: `Part ${n}` } });
    return toolReply([call(1), call(2)], USAGE).body;
  });
  others.push(
    createRuntime({
      database: { url: fixture.database.url },
      model: { apiKey: 'k', baseUrl: fixture.models.url, maxRetries: 0 },
    }),
  );
  const runtimes = [fixture.runtime, ...others];
  const config = { agent: 'lead', agent_tier: undefined, timeout_seconds: 100 };
  const one = async (n: number): Promise<AgentResult> => {
    const runtime = runtimes[n % runtimes.length] as Runtime;
    return runtime.run(aTask(tenantId, config)).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { status: 'budget_exceeded' } });
      return (error as { result: AgentResult }).result;
    });
  };
  const before = fixture.models.received.length;
  const results = await Promise.all(Array.from({ length: TREES }, (_, n) => one(n)));
  const asked = fixture.models.received.length - before;

  const [bill] = await fixture.database.query<{ cost: string; calls: number; lines: number }>(
    `SELECT sum(cost_exact)::text AS cost, sum(model_calls)::int AS calls, count(*)::int AS lines
     FROM elo_t_token_usage WHERE tenant_id = $1`,
    [tenantId],
  );
  const spent = Number(bill?.cost);
  expect(bill?.calls).toBe(asked);
  expect(spent).toBeCloseTo(asked * COST_OF_CALL, 6);
  expect(spent).toBeGreaterThanOrEqual(LIMIT_USD);
  expect(spent).toBeLessThanOrEqual(LIMIT_USD + RESERVATION);
  expect(results.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0)).toBeCloseTo(spent, 6);
  expect(bill?.lines).toBeLessThanOrEqual(TREES);
  const states = await fixture.database.query<{ state: string }>(
    `SELECT DISTINCT state FROM elo_agent_runs WHERE tenant_id = $1`,
    [tenantId],
  );
  expect(states.map(({ state }) => state)).not.toContain('running');
}, 200_000);

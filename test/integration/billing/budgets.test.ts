import { randomUUID } from 'node:crypto';

import { createRuntime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import {
  type AgentFixture,
  aTask,
  eventually,
  failureOf,
  gate,
  startAgentFixture,
} from '../../support/values/agent-fixture';

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());

const tenantWith = (settings: object) => addTenant(fixture.database, { settings });
const answer = (tokens: { prompt: number; completion: number }) => {
  const { body } = textReply('Done.');
  const usage = { prompt_tokens: tokens.prompt, completion_tokens: tokens.completion };
  return { body: { ...(body as object), usage } };
};
const monthOf = async (tenantId: string) => {
  const [row] = await fixture.database.query<{ cost_usd: string; tokens: string }>(
    'SELECT cost_usd, tokens FROM elo_agent_monthly_usage WHERE tenant_id = $1',
    [tenantId],
  );
  return row;
};

it.each([
  ['money', { monthly_cost_limit_usd: '0.0003' }],
  ['money, as a number', { monthly_cost_limit_usd: 0.0003 }],
  ['tokens', { monthly_token_limit: 1500 }],
])('a limit of %s that is reached answers budget_exceeded and calls no model', async (_what, settings) => {
  const tenantId = await tenantWith(settings);
  fixture.models.script(answer({ prompt: 1250, completion: 340 }));
  await fixture.runtime.run(aTask(tenantId));
  const task = aTask(tenantId);
  const failure = await failureOf(fixture.runtime.run(task));
  expect(failure).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    result: { status: 'budget_exceeded', iterations: 0, cost_usd: '0.00000000', task_id: task.task_id },
  });
  expect(fixture.modelCalls(task.task_id)).toEqual([]);
  // Nor the free tier: the tenant is asked to wait.
  const free = await failureOf(fixture.runtime.run(aTask(tenantId, { agent_tier: 'nano' })));
  expect(free.code).toBe('BUDGET_EXCEEDED');
});

it.each([
  [{ monthly_token_limit: '-5' }, 'monthly_token_limit'],
  [{ monthly_cost_limit_usd: '1e' }, 'monthly_cost_limit_usd'],
  [{ monthly_cost_limit_usd: '' }, 'monthly_cost_limit_usd'],
  [{ monthly_cost_limit_usd: ' ' }, 'monthly_cost_limit_usd'],
  [{ monthly_cost_limit_usd: 'null' }, 'monthly_cost_limit_usd'],
  [{ monthly_cost_limit_usd: false }, 'monthly_cost_limit_usd'],
  [{ monthly_token_limit: '' }, 'monthly_token_limit'],
])('a limit that cannot be read does not fall away: %j', async (settings, setting) => {
  const failure = await failureOf(fixture.runtime.run(aTask(await tenantWith(settings))));
  expect(failure).toMatchObject({ code: 'SETTING_INVALID', message: containing(setting) });
});

it('a task that was done is replayed although the limit is reached since', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 100 });
  const task = aTask(tenantId);
  fixture.models.script(answer({ prompt: 100, completion: 1 }));
  await fixture.runtime.run(task);
  await expect(fixture.runtime.run(task)).resolves.toMatchObject({ replayed: true, status: 'completed' });
});

it('the last month does not count', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 1000 });
  await fixture.database.query(
    `INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens, created_at)
     VALUES ($1, 'm', 5000, date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 second')`,
    [tenantId],
  );
  fixture.models.script(answer({ prompt: 1, completion: 1 }));
  await expect(fixture.runtime.run(aTask(tenantId))).resolves.toMatchObject({ status: 'completed' });
});

it('lines of tenants that nobody knows can still be written', async () => {
  const write = `INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens) VALUES ($1, 'm', 5)`;
  await expect(fixture.database.query(write, [randomUUID()])).resolves.toEqual([]);
});

it('a run waits while another holds what is left, and goes on when that one has used less', async () => {
  // Room for one call of the tier's 2,000 tokens at a time.
  const tenantId = await tenantWith({ monthly_token_limit: 2000 });
  const { opened, open } = gate();
  fixture.models.script(
    async (_request, response) => {
      await opened;
      sendJson(response, answer({ prompt: 10, completion: 10 }).body);
    },
    answer({ prompt: 10, completion: 10 }),
  );
  const asked = fixture.models.received.length;
  const runs = [fixture.runtime.run(aTask(tenantId)), fixture.runtime.run(aTask(tenantId))];
  await eventually(() => fixture.models.received[asked]);
  // Time for the other one to ask, if it did not wait.
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(fixture.models.received).toHaveLength(asked + 1);
  open();
  await expect(Promise.all(runs)).resolves.toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  expect(await monthOf(tenantId)).toMatchObject({ tokens: '40' });
});

it.each([
  [{ max_cost_usd: '0.0001' }, '$0.0001'],
  [{ max_total_tokens: 1000 }, '1000 tokens'],
])('a limit of the run itself ends it before the next call: %j', async (limit, amount) => {
  const tenantId = await tenantWith({});
  const reply = toolReply([{ name: 'echo' }]);
  fixture.models.script({
    body: { ...(reply.body as object), usage: { prompt_tokens: 1250, completion_tokens: 340 } },
  });
  const failure = await failureOf(fixture.runtime.run(aTask(tenantId, limit)));
  expect(failure).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    message: containing(amount),
    result: { iterations: 1, status: 'budget_exceeded', cost_usd: '0.00039150' },
  });
});

it('no model is called when the room could not be reserved', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 100_000 });
  const task = aTask(tenantId);
  const { database } = fixture;
  fixture.models.script(async (_request, response) => {
    await database.query('ALTER FUNCTION elo_agent_reserve RENAME TO elo_agent_reserve_gone');
    sendJson(response, toolReply([{ name: 'echo' }]).body);
  });
  const runtime = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: fixture.models.url, maxRetries: 0 },
  });
  try {
    const failure = await failureOf(runtime.run(task));
    expect(failure.code).toMatch(/^DB_/);
    expect(fixture.modelCalls(task.task_id)).toHaveLength(1);
  } finally {
    await database.query('ALTER FUNCTION elo_agent_reserve_gone RENAME TO elo_agent_reserve');
    await runtime.close();
  }
});

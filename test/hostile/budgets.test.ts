import '../support/setup/errors-of-node';

import { type AgentResult, createRuntime, type Model, type ModelRequest, type Runtime } from '../../runtime';
import { addTenant } from '../support/servers/database';
import { textReply, toolReply } from '../support/servers/model-server';
import { aTask, echoTool, eventually, failureOf, gate } from '../support/values/agent-fixture';
import { fc } from '../support/values/properties';
import { COST_OF_ONE, hostileWorld, warned } from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');
const database = () => world.fixture().database;
const open: Runtime[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((runtime) => runtime.close()));
});

/** A process of its own as far as the database can tell: another pool. */
function aProcess(generate: Model['generate']): Runtime {
  const runtime = createRuntime({
    database: { url: database().url, maxConnections: 4 },
    plugins: { model: { generate }, tools: [echoTool] },
  });
  open.push(runtime);
  return runtime;
}

/** Dollars for a million tokens of the model below, in and out: a call of 1000 and 2000 tokens is three cents. */
const PRICE = 10;
const MODEL = 'test/dear';
const dollars = (tokens: number): number => (tokens * PRICE) / 1e6;

beforeAll(async () => {
  await database().query(
    `INSERT INTO elo_model_pricing (model_id, provider, input_cost_per_1m, output_cost_per_1m) VALUES ($1, 'test', $2, $2)`,
    [MODEL, PRICE],
  );
});

const spentBy = async (tenantId: string): Promise<number> => {
  const [row] = await database().query<{ cost: string | null }>(
    'SELECT sum(cost_exact) AS cost FROM elo_t_token_usage WHERE tenant_id = $1',
    [tenantId],
  );
  return Number(row?.cost ?? 0);
};

interface Answered {
  readonly prompt: number;
  readonly completion: number;
  readonly asksForTool: boolean;
}

function reply(
  { attempts }: ModelRequest,
  { prompt, completion, asksForTool }: Answered,
  n: number,
): ReturnType<Model['generate']> {
  attempts.sent++;
  attempts.answered++;
  const call = { id: `c${n}`, type: 'function', function: { name: 'echo', arguments: `{"n":${n}}` } } as const;
  return Promise.resolve({
    message: asksForTool
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: 'Done' },
    finishReason: asksForTool ? 'tool-calls' : 'stop',
    usage: {
      promptTokens: prompt,
      completionTokens: completion,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 0,
    },
  });
}

const LIMIT_USD = 1;
const MAX_TOKENS = 2000;
/** What is reserved at most: a step's prompt with the one before in it, a tool's result, and the longest reply. */
const LARGEST_RESERVATION = dollars(1000 + MAX_TOKENS + 4000 + MAX_TOKENS);

it('case 38: fifty runs of two processes never spend more than the limit and one reservation', async () => {
  const randomCall = fc.record({
    prompt: fc.integer({ min: 100, max: 1000 }),
    completion: fc.integer({ min: 0, max: MAX_TOKENS }),
    asksForTool: fc.boolean(),
    delayMs: fc.integer({ min: 0, max: 15 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(randomCall), async (calls) => {
      const tenantId = await addTenant(database(), { settings: { monthly_cost_limit_usd: LIMIT_USD } });
      let made = 0;
      const generate: Model['generate'] = async (request) => {
        const call = calls.next().value as Answered & { readonly delayMs: number };
        made++;
        await new Promise((resolve) => setTimeout(resolve, call.delayMs));
        return reply(request, call, made);
      };
      const processes = [aProcess(generate), aProcess(generate)];
      const config = {
        model_override: MODEL,
        max_tokens: MAX_TOKENS,
        timeout_seconds: 100,
        max_iterations: 3,
        on_max_iterations: 'partial',
      };
      const one = (n: number): Promise<AgentResult | undefined> =>
        (processes[n % 2] as Runtime).run(aTask(tenantId, config)).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { status: 'budget_exceeded' } });
          return (error as { result: AgentResult }).result;
        });
      const results = await Promise.all(Array.from({ length: 50 }, (_, n) => one(n)));

      const spent = await spentBy(tenantId);
      expect(spent).toBeLessThanOrEqual(LIMIT_USD + LARGEST_RESERVATION);
      // Every dollar is on somebody's result, and every result is one of the three ends that there are.
      const told = results.reduce((sum, result) => sum + Number(result?.cost_usd), 0);
      expect(told).toBeCloseTo(spent, 6);
      for (const result of results) expect(result?.status).toMatch(/^(completed|max_iterations|budget_exceeded)$/);
      const [month] = await database().query<{ cost_usd: string }>(
        'SELECT sum(cost_usd) AS cost_usd FROM elo_agent_monthly_usage WHERE tenant_id = $1',
        [tenantId],
      );
      expect(Number(month?.cost_usd)).toBeCloseTo(spent, 6);
      if (results.some((result) => result?.status === 'budget_exceeded')) {
        expect(spent).toBeGreaterThanOrEqual(LIMIT_USD);
        const before = made;
        await Promise.all([0, 1, 2, 3].map(one));
        expect(made).toBe(before);
      } else {
        expect(spent).toBeLessThan(LIMIT_USD + LARGEST_RESERVATION);
      }
    }),
    { numRuns: 4 },
  );
}, 200_000);

describe('room that another run holds', () => {
  /** A limit that one reservation of 1000 and 2000 tokens takes whole. */
  const settings = { monthly_cost_limit_usd: '0.03' };
  const config = { model_override: MODEL, max_tokens: MAX_TOKENS, timeout_seconds: 60 };
  const small: Answered = { prompt: 100, completion: 20, asksForTool: false };

  it('case 38: is waited for, and used when it becomes free', async () => {
    const tenantId = await addTenant(database(), { settings });
    const asked = gate();
    const answer = gate();
    let made = 0;
    const slow = aProcess(async (request) => {
      made++;
      asked.open();
      await answer.opened;
      return reply(request, small, made);
    });
    const first = slow.run(aTask(tenantId, config));
    await asked.opened;
    const second = aProcess((request) => {
      made++;
      return reply(request, small, made);
    }).run(aTask(tenantId, config));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(made).toBe(1);
    answer.open();
    expect([(await first).status, (await second).status]).toEqual(['completed', 'completed']);
    expect(made).toBe(2);
  });

  it('case 38: is waited for no longer than the run may last, and nothing is spent', async () => {
    const tenantId = await addTenant(database(), { settings });
    const asked = gate();
    const answer = gate();
    const first = aProcess(async (request) => {
      asked.open();
      await answer.opened;
      return reply(request, small, 1);
    }).run(aTask(tenantId, config));
    await asked.opened;
    const before = world.modelCalls();
    const task = aTask(tenantId, { ...config, timeout_seconds: 1.5 });
    const error = await failureOf(world.fixture().runtime.run(task));
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { status: 'budget_exceeded', iterations: 0 } });
    expect(world.modelCalls()).toBe(before);
    expect(await world.fixture().usageRows(task.task_id)).toEqual([]);
    answer.open();
    await first;
  });

  it('case 38: comes back when the process that held it was killed and its lease is over', async () => {
    const tenantId = await addTenant(database(), { settings });
    const asked = gate();
    const controller = new AbortController();
    const killedTask = aTask(tenantId, config);
    // For the database a process that was killed and one that is stuck are the same: it does not write any more.
    const killed = aProcess(() => {
      asked.open();
      return new Promise(() => undefined);
    }).run(killedTask, { signal: controller.signal });
    await asked.opened;
    let made = 0;
    const second = aProcess((request) => reply(request, small, ++made)).run(aTask(tenantId, config));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(made).toBe(0);
    await database().query('UPDATE elo_agent_runs SET lease_until = now() WHERE task_id = $1', [killedTask.task_id]);
    expect(await second).toMatchObject({ status: 'completed' });
    expect(made).toBe(1);
    controller.abort();
    await failureOf(killed);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('the provider is gone'))],
    ['is answered with much less', (request: ModelRequest) => reply(request, { ...small, prompt: 1 }, 1)],
  ] as const)('case 38: comes back at once when the call %s', async (_what, generate) => {
    const tenantId = await addTenant(database(), { settings });
    await aProcess(generate)
      .run(aTask(tenantId, config))
      .catch(() => undefined);
    const [held] = await database().query<{ room: string }>(
      'SELECT elo_agent_reserve($1, ARRAY[gen_random_uuid()], 0.03, NULL, 0, 0) AS room',
      [tenantId],
    );
    expect(held).toEqual({ room: 'ok' });
  });

  it('case 38: of one tenant does not take from another', async () => {
    const [one, other] = [await addTenant(database(), { settings }), await addTenant(database(), { settings })];
    const asked = gate();
    const controller = new AbortController();
    const stuck = aProcess(() => {
      asked.open();
      return new Promise(() => undefined);
    }).run(aTask(one, config), { signal: controller.signal });
    await asked.opened;
    const free = await aProcess((request) => reply(request, small, 1)).run(aTask(other, config));
    expect(free.status).toBe('completed');
    controller.abort();
    await failureOf(stuck);
  });
});

describe('a limit that is reached', () => {
  it('case 38: in the middle of a run ends it before the tools of the step, with the work and the bill so far', async () => {
    const { error, result, executed, sent, bill, state } = await attack({
      tools: [{ code: 'send' }],
      settings: { monthly_token_limit: 240 },
      replies: [1, 2, 3].map((n) => toolReply([{ name: 'send', arguments: { n } }])),
    });
    expect(error).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      category: 'tenant',
      message: expect.stringContaining('240 tokens') as string,
    });
    expect(executed.map((call) => call.arguments)).toEqual([{ n: 1 }]);
    expect(sent).toHaveLength(2);
    expect(result).toMatchObject({ status: 'budget_exceeded', iterations: 2, tokens: { total: 240 } });
    expect(bill).toMatchObject([{ model_calls: 2, total_tokens: 240, cost_usd: (2 * COST_OF_ONE).toFixed(8) }]);
    expect(state).toBe('failed');
  });

  it.each([
    ['in money', { max_cost_usd: COST_OF_ONE.toFixed(6) }],
    ['in tokens', { max_total_tokens: 120 }],
  ])('case 38: by the run itself, %s, ends it the same way', async (_what, config) => {
    const { error, result, executed, sent } = await attack({
      tools: [{ code: 'send' }],
      config,
      replies: [toolReply([{ name: 'send' }]), DONE],
    });
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(result).toMatchObject({ status: 'budget_exceeded', tokens: { total: 120 } });
    expect([executed, sent.length]).toEqual([[], 1]);
  });

  it.each([
    ['a task that asks not to be recorded', { record_usage: false }],
    ['the free tier', { agent_tier: 'nano', model_override: 'openai/gpt-4o-mini' }],
    ['a retry of the same task', {}],
  ])('case 38: counts %s too', async (what, config) => {
    const settings = { monthly_token_limit: 120 };
    const first = await attack({ settings, config, replies: [DONE] });
    expect(first.result).toMatchObject({ status: 'completed' });
    expect(first.bill).toMatchObject([{ total_tokens: 120 }]);
    if ('record_usage' in config) expect(warned(first)).toEqual(['USAGE_RECORDED']);
    world.fixture().models.script(DONE);
    const before = world.modelCalls();
    const again = aTask(first.tenantId, config, what.includes('retry') ? first.taskId : undefined);
    const error = await failureOf(world.fixture().runtime.run(again, { fresh: true }));
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { status: 'budget_exceeded' } });
    expect(world.modelCalls()).toBe(before);
  });

  it('case 38: counts what other writers put on the bill, of this tenant and this month', async () => {
    const [own, other] = [
      await addTenant(database(), { settings: { monthly_cost_limit_usd: 1 } }),
      await addTenant(database(), { settings: { monthly_cost_limit_usd: 1 } }),
    ];
    const write = (tenantId: string, cost: number, at: string) =>
      database().query(
        `INSERT INTO elo_t_token_usage (tenant_id, model_id, cost_usd, created_at) VALUES ($1, 'theirs', $2, ${at})`,
        [tenantId, cost],
      );
    await write(other, 0.999, 'now()');
    await write(other, 5, "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 second'");
    await write(own, 1, 'now()');
    expect((await attack({ tenantId: other, replies: [DONE] })).result?.status).toBe('completed');
    const { error, sent, bill } = await attack({ tenantId: own, replies: [DONE] });
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect([sent, bill]).toEqual([[], []]);
  });

  it.each([
    ['zero', 0],
    ['zero as text', '0'],
    ['zero with places', '0.00'],
  ])('case 38: of %s leaves no call at all', async (_what, limit) => {
    const { error, sent } = await attack({ settings: { monthly_cost_limit_usd: limit }, replies: [DONE] });
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(sent).toEqual([]);
  });

  it.each([
    ['a word', 'five'],
    ['less than nothing', -1],
    ['with a currency', '$5'],
    ['with a comma', '5,00'],
    ['endless', 'Infinity'],
    ['no number', 'NaN'],
    ['a list', [5]],
    ['an empty list', []],
    ['an object', { usd: 5 }],
    ['true', true],
  ])('case 38: that is %s is no limit that falls away: nothing is run', async (_what, limit) => {
    for (const name of ['monthly_cost_limit_usd', 'monthly_token_limit']) {
      const { error, sent, state } = await attack({ settings: { [name]: limit }, replies: [DONE] });
      expect(error).toMatchObject({ code: 'SETTING_INVALID', details: { setting: name } });
      expect([sent, state]).toEqual([[], undefined]);
    }
  });

  it('case 38: in money does not run a model that has no price', async () => {
    const { error, sent } = await attack({
      settings: { monthly_cost_limit_usd: 5 },
      config: { model_override: 'nobody/knows-its-price' },
      replies: [DONE],
    });
    expect(error).toMatchObject({ code: 'MODEL_UNPRICED' });
    expect(sent).toEqual([]);
  });

  it('case 38: that is raised lets the same task go on from the next try', async () => {
    const first = await attack({ settings: { monthly_token_limit: 0 }, replies: [DONE] });
    expect(first.error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    await database().query(`UPDATE elo_t_tenants SET settings = '{"monthly_token_limit": 1000000}' WHERE id = $1`, [
      first.tenantId,
    ]);
    const result = await world.fixture().runtime.run(aTask(first.tenantId, {}, first.taskId));
    expect(result).toMatchObject({ status: 'completed', tokens: { total: 120 } });
    await eventually(async () => ((await spentBy(first.tenantId)) > 0 ? true : undefined));
  });
});

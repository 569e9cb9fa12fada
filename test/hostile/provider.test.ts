import '../support/setup/errors-of-node';

import { type ScriptedReply, textReply, toolReply } from '../support/servers/model-server';
import { callReply, COST_OF_ONE, hostileWorld, rawReply, warned } from '../support/worlds/hostile-world';

type PlainReply = Exclude<ScriptedReply, (...given: never[]) => unknown>;

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');

const limited = (retryAfter: string): PlainReply => ({
  status: 429,
  headers: { 'retry-after': retryAfter },
  body: { error: { message: 'Slow down', code: 429 } },
});

/** Notes how long the provider's client wants to wait before it asks again, and lets it ask at once. */
function withoutPauses(): { readonly pauses: number[]; readonly restore: () => void } {
  const pauses: number[] = [];
  const { setTimeout } = globalThis;
  const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, ms: number) => {
    if (!/openai\/.*sleep/.test(new Error().stack ?? '')) return setTimeout(callback, ms);
    pauses.push(ms);
    return setTimeout(callback, 0);
  }) as typeof setTimeout);
  return { pauses, restore: () => timers.mockRestore() };
}

/** A limit whose header is made when its request comes. */
const limitedNow =
  (retryAfter: () => string): ScriptedReply =>
  (_request, response) => {
    const { status = 429, headers, body } = limited(retryAfter());
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

describe('a limit of the rate', () => {
  it.each([
    ['a second', () => '1', { from: 950, to: 4000 }],
    ['a date', () => new Date(Date.now() + 2500).toUTCString(), { from: 1000, to: 4000 }],
    ['nothing', () => '0', { from: 0, to: 900 }],
    // Beyond a minute, or nonsense: our own pause instead.
    ['thirty years', () => '1000000000', { from: 200, to: 4000 }],
    ['a date in the past', () => new Date(0).toUTCString(), { from: 200, to: 4000 }],
    ['less than nothing', () => '-5', { from: 200, to: 4000 }],
    ['1e300', () => '1e300', { from: 200, to: 4000 }],
    ['a word', () => 'soon', { from: 200, to: 4000 }],
  ])(
    'case 10: Retry-After of %s is kept within bounds, and only the answer is billed',
    async (_what, value, { from, to }) => {
      const { pauses, restore } = withoutPauses();
      const { result, bill, calls } = await attack({
        runtime: world.aRuntime({ maxRetries: 1 }),
        replies: [limitedNow(value), DONE],
      });
      restore();
      expect(pauses.map((ms) => ms >= from && ms < to)).toEqual([true]);
      expect(result).toMatchObject({ status: 'completed', iterations: 1, tokens: { total: 120 }, warnings: [] });
      expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 120 }]);
      expect(calls).toMatchObject([{ call_no: 1, unanswered_requests: 0, error_code: null }]);
    },
  );

  it('case 10: a pause counts against the deadline of the run', async () => {
    const { error, result, sent } = await attack({
      runtime: world.aRuntime({ maxRetries: 5 }),
      config: { timeout_seconds: 0.5 },
      replies: [limited('50'), DONE],
    });
    expect(error).toMatchObject({ code: 'RUN_TIMEOUT', retryable: true });
    expect(sent).toHaveLength(1);
    expect(result).toMatchObject({ status: 'failed', tokens: { total: 0 }, cost_usd: '0.00000000' });
  });

  it.each([
    ['for ever', limited('0')],
    ['and tells us to go on', { ...limited('0'), headers: { 'retry-after': '0', 'x-should-retry': 'true' } }],
  ] as const)(
    'case 10: a provider that limits %s is asked as often as configured, and then it is a clear error',
    async (_what, reply) => {
      const { error, result, sent, bill } = await attack({
        runtime: world.aRuntime({ maxRetries: 2 }),
        replies: Array.from({ length: 9 }, () => reply),
      });
      expect(error).toMatchObject({
        code: 'LLM_RATE_LIMITED',
        retryable: true,
        message: expect.stringContaining('Slow down') as string,
      });
      expect(sent).toHaveLength(3);
      expect(result?.warnings).toEqual([]);
      expect(bill).toMatchObject([{ total_tokens: 0, cost_usd: '0.00000000' }]);
    },
  );
});

describe('an error within HTTP 200', () => {
  const inBody = (code: unknown): ScriptedReply => ({
    headers: { 'retry-after': '0' },
    body: { error: { message: 'It went wrong', code, metadata: { raw: 'x' } }, user_id: 'u' },
  });

  it.each([
    [429, 'LLM_RATE_LIMITED', 2],
    ['429', 'LLM_RATE_LIMITED', 2],
    [502, 'LLM_UNAVAILABLE', 2],
    [503, 'LLM_UNAVAILABLE', 2],
    ['a word', 'LLM_UNAVAILABLE', 2],
    [200, 'LLM_UNAVAILABLE', 2],
    [-1, 'LLM_UNAVAILABLE', 2],
    [1e300, 'LLM_UNAVAILABLE', 2],
    [undefined, 'LLM_UNAVAILABLE', 2],
    [401, 'LLM_AUTH_FAILED', 1],
    [402, 'LLM_INSUFFICIENT_CREDITS', 1],
    [400, 'LLM_BAD_REQUEST', 1],
  ])('case 11: of code %p goes the way of the status: %s after %i request(s)', async (code, expected, requests) => {
    const { error, sent, bill } = await attack({
      runtime: world.aRuntime({ maxRetries: 1 }),
      replies: [inBody(code), inBody(code), DONE],
    });
    expect(error).toMatchObject({ code: expected });
    expect(error?.message).toMatch(/It went wrong|API key|no credit/);
    expect(sent).toHaveLength(requests);
    expect(bill).toMatchObject([{ total_tokens: 0, cost_usd: '0.00000000' }]);
  });

  it('case 11: beside choices it is an error too: their tool calls do not run', async () => {
    const { body } = callReply('pay', '{}');
    const both = { headers: { 'retry-after': '0' }, body: { ...body, error: { message: 'Overloaded', code: 502 } } };
    const { error, executed } = await attack({ tools: [{ code: 'pay' }], replies: [both] });
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(executed).toEqual([]);
  });

  it('case 11: the word "error" in an answer is no error', async () => {
    const text = 'The field "error" is {"error":{"code":429}}';
    const { result, sent } = await attack({ replies: [textReply(text)] });
    expect(result).toMatchObject({ status: 'completed', result: { text }, tokens: { total: 120 } });
    expect(sent).toHaveLength(1);
  });

  it('case 11: "error": null beside an answer is no error', async () => {
    const reply = rawReply({ role: 'assistant', content: 'Done' }, 'stop', { error: null });
    expect((await attack({ replies: [reply] })).result).toMatchObject({
      status: 'completed',
      result: { text: 'Done' },
    });
  });
});

describe('a provider that fails before it answers', () => {
  const failing = (status: number): ScriptedReply => ({ status, headers: { 'retry-after': '0' }, body: {} });
  const reset: ScriptedReply = (_request, response) => {
    response.socket?.resetAndDestroy();
  };

  it.each([
    ['HTTP 500', failing(500), 0],
    ['HTTP 503', failing(503), 0],
    ['HTTP 529', failing(529), 0],
    ['ECONNRESET', reset, 1],
  ] as const)(
    'case 12: with %s is asked again, and the task has one bill with the one answer',
    async (_what, failure, unanswered) => {
      const { result, sent, bill, calls, executed } = await attack({
        tools: [{ code: 'pay' }],
        runtime: world.aRuntime({ maxRetries: 2 }),
        replies: [failure, failure, toolReply([{ name: 'pay' }]), failure, DONE],
      });
      expect(result).toMatchObject({ status: 'completed', iterations: 2 });
      expect(sent).toHaveLength(5);
      // The same request again, to the letter.
      expect(new Set(sent.slice(0, 3).map((request) => JSON.stringify(request))).size).toBe(1);
      expect(executed).toHaveLength(1);
      expect(bill).toMatchObject([{ model_calls: 2, total_tokens: 240, cost_usd: (2 * COST_OF_ONE).toFixed(8) }]);
      expect(calls.map((call) => call.unanswered_requests)).toEqual([2 * unanswered, unanswered]);
      expect(warned({ result })).toEqual(unanswered === 0 ? [] : ['USAGE_UNKNOWN']);
    },
  );

  it.each([
    ['HTTP 503', failing(503)],
    ['ECONNRESET', reset],
  ] as const)('case 12: with %s for good is an error, and nothing is billed for it', async (_what, failure) => {
    const { error, result, sent, bill, state } = await attack({
      runtime: world.aRuntime({ maxRetries: 1 }),
      replies: [failure, failure, DONE],
    });
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE', retryable: true });
    expect(sent).toHaveLength(2);
    expect(result).toMatchObject({ cost_usd: '0.00000000' });
    expect(bill.map((line) => [line.total_tokens, line.cost_usd])).toEqual([[0, '0.00000000']]);
    expect(state).toBe('failed');
  });
});

describe('usage', () => {
  const withUsage = (usage: unknown, rest: object = {}): ScriptedReply =>
    rawReply({ role: 'assistant', content: 'Done' }, 'stop', { usage, ...rest });

  it.each([
    ['missing', undefined],
    ['null', null],
    ['a text', 'much'],
    ['a list', [100, 20]],
    ['empty', {}],
    ['negative', { prompt_tokens: -100, completion_tokens: 20 }],
    ['half negative', { prompt_tokens: 100, completion_tokens: -20 }],
    ['made of texts', { prompt_tokens: '100', completion_tokens: '20' }],
    ['1e300', { prompt_tokens: 1e300, completion_tokens: 20 }],
    ['beyond what a number holds', { prompt_tokens: 2 ** 53, completion_tokens: 20 }],
    ['broken', { prompt_tokens: 100.5, completion_tokens: 20 }],
    ['nested', { prompt_tokens: { valueOf: 100 }, completion_tokens: 20 }],
  ])('case 14: usage that is %s is estimated, with a warning', async (_what, usage) => {
    const { result, bill, calls } = await attack({ replies: [withUsage(usage)] });
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Done' }, usage_estimated: true });
    const { prompt = 0, completion, total } = result?.tokens ?? {};
    expect([prompt > 0, completion, total]).toEqual([true, 1, prompt + 1]);
    expect(warned({ result })).toEqual(['USAGE_ESTIMATED']);
    const cost_usd = ((prompt * 15 + 60) / 1e8).toFixed(8);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: prompt + 1, cost_usd, usage_estimated: true }]);
    expect(calls).toMatchObject([{ prompt_tokens: String(prompt), completion_tokens: '1', usage_estimated: true }]);
  });

  it('case 14: usage of which a side is NaN, which JSON writes as null, is billed by the other, and told', async () => {
    const { result, bill } = await attack({ replies: [withUsage({ prompt_tokens: NaN, completion_tokens: 20 })] });
    expect(result).toMatchObject({ status: 'completed', cost_usd: '0.00001200' });
    expect(warned({ result })).toEqual(['USAGE_CONTRADICTORY']);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 20, cost_usd: '0.00001200' }]);
  });

  it('case 14: a bare NaN makes the reply unreadable, and its usage is called unknown', async () => {
    const { error, result, bill } = await attack({
      replies: [
        (_request, response) => {
          const text = JSON.stringify(rawReply({ role: 'assistant', content: 'Done' }).body).replace(':100', ':NaN');
          response.writeHead(200, { 'content-type': 'application/json' }).end(text);
        },
      ],
    });
    expect(error).toMatchObject({ code: 'LLM_BAD_REPLY' });
    expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
    expect(bill).toMatchObject([{ model_calls: 0, total_tokens: 0 }]);
  });

  it('case 14: parts that are more than the whole are cut down to it', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: -1e9,
      prompt_tokens_details: { cached_tokens: 1e6 },
      completion_tokens_details: { reasoning_tokens: '1e6' },
    };
    const { result, bill } = await attack({ replies: [withUsage(usage)] });
    expect(result?.tokens).toEqual({
      prompt: 100,
      completion: 20,
      total: 120,
      cached: 100,
      cache_written: 0,
      reasoning: 0,
    });
    expect(bill).toMatchObject([{ total_tokens: 120, cost_usd: COST_OF_ONE.toFixed(8) }]);
  });

  it.each([[-1], [1e300], ['0.01'], [null], [{}]])(
    'case 14: a cost of %p is not taken from the provider; ours is billed',
    async (cost) => {
      const { result, bill } = await attack({
        replies: [withUsage({ prompt_tokens: 100, completion_tokens: 20, cost })],
      });
      expect(result).not.toHaveProperty('provider_cost_usd');
      expect(bill).toMatchObject([{ provider_cost_usd: null, cost_usd: COST_OF_ONE.toFixed(8) }]);
    },
  );

  it('case 14: a step with nonsense takes nothing off the steps with sense', async () => {
    const { bill } = await attack({
      tools: [{ code: 'look' }],
      replies: [toolReply([{ name: 'look' }]), withUsage({ prompt_tokens: -1e6, completion_tokens: -1e6 })],
    });
    expect(bill).toMatchObject([{ model_calls: 2, usage_estimated: true }]);
    expect(bill[0]?.total_tokens).toBeGreaterThan(120);
    expect(Number(bill[0]?.cost_usd)).toBeGreaterThan(COST_OF_ONE);
  });
});

describe('a model that is not the one that was asked', () => {
  const OTHER = 'anthropic/claude-3-5-sonnet';

  it('case 15: both models stand in the ledger, with what the provider asks for it', async () => {
    const { result, bill, calls } = await attack({ replies: [textReply('Done', { model: OTHER, cost: 0.0006 })] });
    expect(calls).toMatchObject([
      { model_requested: 'openai/gpt-4o-mini', model_returned: OTHER, provider_cost_usd: '0.0006' },
    ]);
    expect(result).toMatchObject({ provider_cost_usd: '0.0006' });
    expect(bill).toMatchObject([{ provider_cost_usd: '0.0006', total_tokens: 120 }]);
  });

  it('case 15: the price is that of the one that was asked, as the catalogue of tiers promises (ADR 0008)', async () => {
    const { result, bill, calls } = await attack({ replies: [textReply('Done', { model: OTHER })] });
    expect(calls).toMatchObject([
      { model_billed: 'openai/gpt-4o-mini', model_returned: OTHER, cost_exact: '0.000027' },
    ]);
    expect(result).toMatchObject({ model_used: 'openai/gpt-4o-mini', cost_usd: COST_OF_ONE.toFixed(8) });
    expect(bill).toMatchObject([{ model_id: 'openai/gpt-4o-mini', cost_usd: COST_OF_ONE.toFixed(8) }]);
  });

  it('case 15: where the one that was asked has no price, it is that of the one that answered', async () => {
    const { result, bill, calls } = await attack({
      config: { model_override: 'openrouter/auto' },
      replies: [textReply('Done', { prompt: 1000, completion: 100, model: OTHER })],
    });
    expect(calls).toMatchObject([
      { model_requested: 'openrouter/auto', model_returned: OTHER, model_billed: OTHER, cost_exact: '0.0045' },
    ]);
    expect(result).toMatchObject({ model_used: OTHER, cost_usd: '0.00450000', warnings: [] });
    expect(bill).toMatchObject([{ model_id: OTHER, cost_usd: '0.00450000' }]);
  });

  it.each([
    ['unknown', 'nobody/knows-this', 'nobody/knows-this'],
    ['of a megabyte', 'x'.repeat(1_000_000), 'x'.repeat(200)],
    ['with NUL and half a character', 'a\0b\ud800', 'ab\ufffd'],
    ['no text', 7, null],
  ])('case 15: one that is %s is billed at the price of the one that was asked', async (_what, model, kept) => {
    const { result, calls, bill } = await attack({
      replies: [rawReply({ role: 'assistant', content: 'Done' }, 'stop', { model })],
    });
    expect(result).toMatchObject({ status: 'completed', model_used: 'openai/gpt-4o-mini' });
    expect(calls).toMatchObject([{ model_requested: 'openai/gpt-4o-mini', model_returned: kept }]);
    expect(bill).toMatchObject([{ model_id: 'openai/gpt-4o-mini', cost_usd: COST_OF_ONE.toFixed(8) }]);
  });
});

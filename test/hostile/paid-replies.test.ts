import '../support/setup/errors-of-node';

import { brotliCompressSync, gzipSync } from 'node:zlib';

import { type ScriptedReply, textReply, toolReply } from '../support/servers/model-server';
import { COST_OF_ONE, hostileWorld, rawReply, warned } from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');
const costOf = (replies: number): string => (replies * COST_OF_ONE).toFixed(8);

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const failed = (status: number, rest: object = {}): ScriptedReply => ({
  status,
  headers: { 'retry-after': '0' },
  body: { id: 'gen-failed', error: { message: 'Upstream went away', code: 502 }, usage: USAGE, ...rest },
});

describe('an error that says what it used', () => {
  it.each([
    ['within HTTP 200', 200],
    ['as HTTP 502', 502],
    ['as HTTP 503', 503],
  ])('case 46: %s is billed for each try, beside the answer, in one record', async (_how, status) => {
    const { result, sent, bill, calls } = await attack({
      runtime: world.aRuntime({ maxRetries: 2 }),
      replies: [failed(status), failed(status), DONE],
    });
    expect(sent).toHaveLength(3);
    expect(result).toMatchObject({ status: 'completed', iterations: 1, tokens: { prompt: 300, completion: 60 } });
    expect(result?.cost_usd).toBe(costOf(3));
    expect(warned({ result })).toEqual(['REPLIES_WASTED']);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 360, cost_usd: costOf(3) }]);
    expect(calls).toMatchObject([{ prompt_tokens: '300', unanswered_requests: 0, error_code: null }]);
  });

  it.each([
    ['with HTTP 200', 200],
    ['with HTTP 500', 500],
  ])('case 46: %s and for good fails the run, and every try is billed', async (_how, status) => {
    const { error, result, bill, calls, state } = await attack({
      runtime: world.aRuntime({ maxRetries: 2 }),
      replies: [failed(status), failed(status), failed(status)],
    });
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(result).toMatchObject({ status: 'failed', cost_usd: costOf(3), tokens: { total: 360 } });
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 360, cost_usd: costOf(3) }]);
    expect(calls).toMatchObject([{ error_code: 'LLM_UNAVAILABLE', unanswered_requests: 0 }]);
    expect(state).toBe('failed');
  });

  it('case 46: that no retry follows is billed too', async () => {
    const { error, bill } = await attack({ replies: [failed(400, { error: { message: 'Too long', code: 400 } })] });
    expect(error).toMatchObject({ code: 'LLM_BAD_REQUEST' });
    expect(bill).toMatchObject([{ total_tokens: 120, cost_usd: costOf(1) }]);
  });

  it('case 46: stays billed when the next try is cut off, whose usage is unknown', async () => {
    const cut: ScriptedReply = (_request, response) => void response.socket?.resetAndDestroy();
    const { error, result, bill, calls } = await attack({
      runtime: world.aRuntime({ maxRetries: 1 }),
      replies: [failed(502), cut],
    });
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(warned({ result })).toEqual(['REPLIES_WASTED', 'USAGE_UNKNOWN']);
    expect(bill).toMatchObject([{ total_tokens: 120, cost_usd: costOf(1) }]);
    expect(calls).toMatchObject([{ prompt_tokens: '100', unanswered_requests: 1 }]);
  });

  it('case 46: stays billed when the run is stopped before the next try', async () => {
    const stop = new AbortController();
    const { error, bill, calls } = await attack({
      runtime: world.aRuntime({ maxRetries: 1 }),
      options: { signal: stop.signal },
      replies: [failed(502), () => stop.abort()],
    });
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(bill).toMatchObject([{ total_tokens: 120, cost_usd: costOf(1) }]);
    expect(calls).toMatchObject([{ prompt_tokens: '100', unanswered_requests: 1, error_code: 'RUN_CANCELLED' }]);
  });

  it('case 46: puts no secret that its id or its model quotes into the ledger', async () => {
    const key = 'sk-canary-1234567890';
    const { url } = world.fixture().models;
    const runtime = world.aRuntime({ model: { apiKey: key, baseUrl: url, maxRetries: 0 } });
    const { calls } = await attack({ runtime, replies: [failed(400, { id: `gen-${key}`, model: `m-${key}` })] });
    expect(calls).toMatchObject([{ provider_request_id: 'gen-[redacted]', model_returned: 'm-[redacted]' }]);
  });

  it.each([
    ['the completion', { prompt_tokens: 50_000, completion_tokens: null, total_tokens: 52_000 }, 52_000],
    ['the completion, and has a total of the rest', { prompt_tokens: 50_000, total_tokens: 50_000 }, 50_000],
    ['all but the total', { total_tokens: 52_000 }, 52_000],
  ])('case 46: but lacks %s is billed by what it says, and that is told', async (_what, usage, total) => {
    const { result, bill, calls } = await attack({ replies: [failed(400, { usage })] });
    expect(warned({ result })).toEqual(['USAGE_CONTRADICTORY', 'REPLIES_WASTED']);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: total }]);
    expect(Number(result?.cost_usd)).toBeGreaterThan(0);
    expect(calls).toMatchObject([{ unanswered_requests: 0, error_code: 'LLM_BAD_REQUEST' }]);
  });

  it.each([[{ prompt_tokens: '50000', completion_tokens: '2000' }], ['52000 tokens']])(
    'case 46: in a way that cannot be read leaves the call open, and is told as unknown: %j',
    async (usage) => {
      const { result, calls } = await attack({ replies: [failed(400, { usage })] });
      expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
      expect(calls).toMatchObject([{ closed_at: null }]);
    },
  );

  it('case 46: by words in a refusal has used nothing: they were not generated', async () => {
    const said = { usage: undefined, choices: [{ message: { content: 'No' } }] };
    const { result, calls } = await attack({ replies: [failed(400, said)] });
    expect(warned({ result })).toEqual([]);
    expect(calls).toMatchObject([{ unanswered_requests: 0, cost_exact: '0', usage_estimated: false }]);
  });

  it.each([[null], [{}], [{ prompt_tokens: null, completion_tokens: 0 }]])(
    'case 46: by usage without a figure closes the call at no cost: %j',
    async (usage) => {
      const { result, calls } = await attack({ replies: [failed(400, { usage })] });
      expect(warned({ result })).toEqual([]);
      expect(calls).toMatchObject([{ unanswered_requests: 0, cost_exact: '0' }]);
    },
  );

  it('case 46: counts for the limits of the run', async () => {
    const { error } = await attack({
      tools: [{ code: 'look' }],
      runtime: world.aRuntime({ maxRetries: 1 }),
      config: { max_total_tokens: 200 },
      replies: [failed(502), toolReply([{ name: 'look' }]), DONE],
    });
    expect(error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  });
});

describe('an error that says nothing', () => {
  it.each([[{}], [null], [''], [false], [{ code: null, message: '' }], [{ code: 0, message: null }], [[]]])(
    'case 46: %j beside an answer leaves it an answer, which is paid for once',
    async (error) => {
      const { result, sent, bill } = await attack({
        runtime: world.aRuntime({ maxRetries: 2 }),
        replies: [rawReply({ role: 'assistant', content: 'Done' }, 'stop', { error })],
      });
      expect(sent).toHaveLength(1);
      expect(result).toMatchObject({ status: 'completed', result: { text: 'Done' }, warnings: [] });
      expect(bill).toMatchObject([{ total_tokens: 120 }]);
    },
  );

  it.each([['Overloaded'], [{ message: 'Overloaded' }], [['Overloaded']], [true]])(
    'case 46: %j says something: nothing of the answer beside it is used, and it is billed',
    async (error) => {
      const reply = rawReply({ role: 'assistant', content: 'Done' }, 'stop', { error });
      const aftermath = await attack({ replies: [reply] });
      expect(aftermath.error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
      expect(aftermath.bill).toMatchObject([{ total_tokens: 120 }]);
    },
  );
});

it.each([
  ['without choices', { choices: [] }],
  ['with a choice without a message', { choices: [{ index: 0 }] }],
])('case 46: a reply %s is no answer, and what it says it used is billed', async (_what, rest) => {
  const { error, result, bill, calls } = await attack({ replies: [{ body: { usage: USAGE, ...rest } }] });
  expect(error).toMatchObject({ code: 'LLM_BAD_REPLY' });
  expect(warned({ result })).toEqual(['REPLIES_WASTED']);
  expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 120, cost_usd: costOf(1) }]);
  expect(calls).toMatchObject([{ unanswered_requests: 0, error_code: 'LLM_BAD_REPLY' }]);
});

describe('reasoning beside the completion', () => {
  it('case 46: is billed, also where only the total has it, and that is told', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 50_015 };
    const { result, bill } = await attack({ replies: [rawReply({ content: 'Done' }, 'stop', { usage })] });
    expect(result?.tokens).toMatchObject({ prompt: 10, completion: 50_005, total: 50_015, reasoning: 50_000 });
    expect(warned({ result })).toEqual(['USAGE_CONTRADICTORY']);
    expect(bill).toMatchObject([{ total_tokens: 50_015 }]);
  });
});

describe("the provider's own cost", () => {
  const withUsage = (usage: object): ScriptedReply => rawReply({ content: 'Done' }, 'stop', { usage });

  it.each([
    [
      'texts',
      { prompt_tokens: '100', completion_tokens: '20', cost: 0.5 },
      { total: expect.any(Number) as number, beside: ['USAGE_ESTIMATED'] },
    ],
    ['half of it', { prompt_tokens: 100, cost: 0.5 }, { total: 100, beside: ['USAGE_CONTRADICTORY'] }],
    ['foreign names', { input_tokens: 100, output_tokens: 20, cost: 0.5 }, { total: 120, beside: [] }],
  ])('case 46: is booked and marked where the usage is %s', async (_what, usage, { total, beside }) => {
    const { result, bill, calls } = await attack({ replies: [withUsage(usage)] });
    expect(result).toMatchObject({ cost_usd: '0.50000000', provider_cost_usd: '0.5', tokens: { total } });
    expect(warned({ result })).toEqual(['COST_FROM_PROVIDER', ...beside]);
    expect(bill).toMatchObject([{ cost_usd: '0.50000000', total_tokens: total }]);
    expect(calls).toMatchObject([{ cost_exact: '0.5', cost_basis: 'provider' }]);
  });

  it('case 46: that differs from ours is told, and ours is billed', async () => {
    const { result, bill, calls } = await attack({ replies: [withUsage({ ...USAGE, cost: 0.0001 })] });
    expect(warned({ result })).toEqual(['COST_DIFFERS']);
    expect(bill).toMatchObject([{ cost_usd: costOf(1), provider_cost_usd: '0.0001' }]);
    expect(calls).toMatchObject([{ cost_basis: null }]);
  });

  it('case 46: that is a fee for a key of the upstream provider is no difference', async () => {
    const usage = { ...USAGE, cost: 0, is_byok: true, cost_details: { upstream_inference_cost: COST_OF_ONE } };
    expect(warned(await attack({ replies: [withUsage(usage)] }))).toEqual([]);
  });
});

describe('a reply in other clothes', () => {
  const text = JSON.stringify(DONE.body);
  const dressed =
    (headers: Record<string, string>, body: string | Buffer): ScriptedReply =>
    (_request, response) =>
      void response.writeHead(200, headers).end(body);

  it.each([
    ['without a content type', {}, text],
    ['as text/plain', { 'content-type': 'text/plain; charset=utf-8' }, text],
    ['as text/html', { 'content-type': 'text/html' }, text],
    ['as bytes, after empty lines', { 'content-type': 'application/octet-stream' }, `\n\n${text}`],
    ['with a byte order mark', { 'content-type': 'application/json' }, `\ufeff${text}`],
    ['with gzip', { 'content-encoding': 'gzip' }, gzipSync(text)],
    ['with Brotli', { 'content-type': 'application/json', 'content-encoding': 'br' }, brotliCompressSync(text)],
    ['with both', { 'content-encoding': 'gzip, br' }, brotliCompressSync(gzipSync(text))],
    ['with none', { 'content-encoding': 'identity' }, text],
  ])('case 46: that comes %s is read', async (_how, headers: Record<string, string>, body) => {
    const { result, bill } = await attack({ replies: [dressed(headers, body)] });
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Done' }, warnings: [] });
    expect(bill).toMatchObject([{ total_tokens: 120 }]);
  });

  it.each([
    ['a page', { 'content-type': 'text/html' }, '<!DOCTYPE html><title>Log in</title>', 'it is an HTML page'],
    ['a page that is called JSON', { 'content-type': 'application/json' }, '<html>', 'it is an HTML page'],
    ['nothing', { 'content-type': 'application/json' }, ' ', 'it is empty'],
    ['words', {}, 'Welcome', 'it is not JSON'],
    ['an unknown encoding', { 'content-encoding': 'rot13' }, text, '"rot13" cannot be read'],
    ['no gzip at all', { 'content-encoding': 'gzip' }, text, '"gzip" cannot be read'],
    [
      'gzip of too much',
      { 'content-encoding': 'gzip' },
      gzipSync(Buffer.alloc(17 * 1024 * 1024, 32)),
      'cannot be read',
    ],
  ])('case 46: that is %s is a clear error after one request', async (...[, headers, body, reason]) => {
    const { error, result, sent } = await attack({
      runtime: world.aRuntime({ maxRetries: 2 }),
      replies: [dressed(headers, body)],
    });
    expect(error).toMatchObject({ code: 'LLM_BAD_REPLY', message: expect.stringContaining(reason) as string });
    expect(sent).toHaveLength(1);
    expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
  });

  it('case 46: that is an error page is told by its title', async () => {
    const page = `<html><head><title>502 Bad Gateway</title></head><body>${'x'.repeat(9000)}</body></html>`;
    const { error } = await attack({
      replies: [(_request, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end(page)],
    });
    expect(error).toMatchObject({
      code: 'LLM_UNAVAILABLE',
      message: expect.stringContaining('"502 Bad Gateway"') as string,
    });
    expect(error?.message).not.toContain('xxx');
  });
});

import { nearestModels } from '../../../runtime/billing/nearest-models';
import { joinLists, readPriceList } from '../../../runtime/billing/price-list';
import { withCode } from '../../support/setup/matchers';

const listOf = async (...data: unknown[]) => (await readPriceList(JSON.stringify({ data }))).models;
const model = async (pricing: unknown, id = 'a/b') => (await listOf({ id, pricing }))[0];
const PLAIN = { prompt: '0.00000015', completion: '0.0000006' };

it('reads dollars a token as dollars a million, exactly', async () => {
  const pricing = {
    prompt: '0.000003',
    completion: '0.000015',
    request: '0',
    image: '0.0048',
    web_search: '0',
    internal_reasoning: '0.00002',
    input_cache_read: '0.0000003',
    input_cache_write: '0.00000375',
    input_cache_write_1h: '0.000006',
  };
  expect((await model(pricing))?.price).toEqual({
    modelId: 'a/b',
    inputPer1M: '3',
    outputPer1M: '15',
    cachedInputPer1M: '0.3',
    cacheWritePer1M: '3.75',
    cacheWrite1hPer1M: '6',
    reasoningPer1M: '20',
  });
  expect((await model({ prompt: '0.0000000416666666667', completion: 1.5e-7 }))?.price).toMatchObject({
    inputPer1M: '0.0416666666667',
    outputPer1M: '0.15',
  });
});

it('reads as many models as it says', async () => {
  const pricing = { ...PLAIN, request: '0', image: '0', web_search: '0', internal_reasoning: '0' };
  const details = {
    architecture: { input_modalities: ['text', 'image'], tokenizer: 'x' },
    parameters: ['a', 'b', 'c'],
  };
  const many = Array.from({ length: 20_000 }, (_, n) => ({ id: `a/${n}`, pricing, ...details }));
  expect(await listOf(...many)).toHaveLength(20_000);
  await expect(listOf(...many, many[0])).rejects.toThrow('more than 20000 models');
});

it('names prices that tokens do not count, and skips a model whose only price is one', async () => {
  const beside = { image: '0.0048', web_search: '0.01', audio: '0' };
  expect(await model({ ...PLAIN, ...beside })).toMatchObject({ besideTokens: ['image', 'web_search'] });
  expect(await model(PLAIN)).not.toHaveProperty('besideTokens');
  const skipped = await model({ prompt: '0', completion: '0', image: '0.04' });
  expect(skipped).toEqual({ modelId: 'a/b', reason: 'its price is for image, not for tokens' });
});

it.each(['perplexity/sonar', 'openai/gpt-4o:online'])('skips %s, which searches the web at a fee', async (id) => {
  expect(await model({ ...PLAIN, web_search: '0.005' }, id)).toMatchObject({
    modelId: id,
    reason: expect.stringContaining('fee') as string,
  });
  expect(await model({ ...PLAIN, web_search: '0' }, id)).toHaveProperty('price');
});

it('names a model whose id is too long, and reads a file with a byte order mark', async () => {
  const long = 'a'.repeat(101);
  const text = `\ufeff${JSON.stringify({ data: [{ id: long, pricing: PLAIN }] })}`;
  expect((await readPriceList(text)).models).toEqual([
    { modelId: long, reason: expect.stringContaining('100') as string },
  ]);
});

it('takes the zero of a list for a price only where the model itself is free', async () => {
  const none = { input_cache_read: '0', input_cache_write: '0', internal_reasoning: '0' };
  expect((await model({ ...PLAIN, ...none }))?.price).toEqual({
    modelId: 'a/b',
    inputPer1M: '0.15',
    outputPer1M: '0.6',
  });
  expect((await model({ prompt: '0', completion: '0' }))?.price).toMatchObject({ inputPer1M: '0', outputPer1M: '0' });
});

it('does not take a surcharge for keeping a cache for the price of writing it', async () => {
  expect((await model({ ...PLAIN, input_cache_write: '0.00000008' }))?.price).not.toHaveProperty('cacheWritePer1M');
});

it.each([
  ['a router, whose price is that of another model', { prompt: '-1', completion: '-1' }],
  [
    'a price by the length of the prompt',
    { ...PLAIN, overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000006' }] },
  ],
  ['a discount', { ...PLAIN, discount: 0.5 }],
  ['a fee for each request', { ...PLAIN, request: '0.01' }],
  ['a fee under another name', { ...PLAIN, per_request: '0.01' }],
  ['a price from a length on', { ...PLAIN, prompt_above_200k: '0.000001' }],
  ['steps of prices', { ...PLAIN, tiers: [{ from: 128_000, prompt: '0.000001' }] }],
  ['another currency', { ...PLAIN, currency: 'EUR' }],
  ['no price', undefined],
  ['no price for the reply', { prompt: '0.1' }],
  ['words', { prompt: 'free', completion: 'free' }],
  ['not a number', { prompt: 'NaN', completion: 'Infinity' }],
  ['a price for a million tokens instead of one', { prompt: '3', completion: '15' }],
  ['an exponent that would fill the memory', { prompt: '1e-999999999', completion: '1e999999999' }],
  ['a list in place of a text', { prompt: ['0.1'], completion: {} }],
  ['a price of the cache in words', { ...PLAIN, input_cache_read: 'half' }],
])('lists a model without a price, and says why, for %s', async (_what, pricing) => {
  expect(await model(pricing)).toEqual({ modelId: 'a/b', reason: expect.stringMatching(/./) as string });
});

it('names what no row can be called, and what has no name', async () => {
  const unfit = [' a', 'a\u0000b', 'ä/b', 'x'.repeat(101)];
  const ids = ['', ...unfit, 5, null, { toString: 1 }];
  const models = await listOf(
    ...ids.map((id) => ({ id, pricing: PLAIN })),
    { id: '__proto__', pricing: PLAIN },
    'text',
    null,
  );
  const nameless = (at: number): object => ({ modelId: `entry ${at} of the list`, reason: 'it has no id' });
  expect(models).toEqual([
    nameless(1),
    ...unfit.map((modelId) => ({ modelId, reason: expect.stringContaining('100 ASCII characters') as string })),
    ...[6, 7, 8].map(nameless),
    { modelId: '__proto__', price: { modelId: '__proto__', inputPer1M: '0.15', outputPer1M: '0.6' } },
    ...[10, 11].map(nameless),
  ]);
});

it.each(['<!doctype html><title>Log in</title>', '', '[]', '{"data":{}}', '{"data":[]}', 'null', '['.repeat(100_000)])(
  'refuses what is no list: %#',
  async (text) => {
    await expect(readPriceList(text)).rejects.toThrow(withCode('PRICE_LIST_INVALID'));
  },
);

it('gives no price to a model that stands twice with two prices', async () => {
  const page = async (prompt: string) => ({
    models: await listOf({ id: 'a/b', pricing: { ...PLAIN, prompt } }, { id: `c/${prompt}`, pricing: PLAIN }),
  });
  expect(joinLists([await page('0.1e-6'), await page('0.1e-6')]).map(({ price }) => price?.inputPer1M)).toEqual([
    '0.1',
    '0.15',
  ]);
  const nameless = { models: [{ modelId: 'entry 1 of the list', reason: 'it has no id' }] };
  expect(joinLists([nameless, nameless]).map(({ modelId }) => modelId)).toEqual([
    'entry 1 of the list, page 1',
    'entry 1 of the list, page 2',
  ]);
  expect(joinLists([nameless])).toEqual(nameless.models);
  expect(joinLists([await page('0.1e-6'), await page('0.2e-6')])[0]).toEqual({
    modelId: 'a/b',
    reason: expect.stringContaining('twice') as string,
  });
});

it.each([
  ['anthropic/claude-3-5-sonnet', 'anthropic/claude-3.5-sonnet'],
  ['anthropic/claude-3.5-sonnet-20241022', 'anthropic/claude-3.5-sonnet'],
  ['OpenAI/gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini'],
  ['qwen/qwen3-4b:free', 'qwen/qwen3-4b:free'],
  ['qwen/qwen3-3b:free', 'qwen/qwen3-4b:free'],
  ['gpt-4o-mini', 'openai/gpt-4o-mini'],
])('finds for %s the nearest, %s', async (id, nearest) => {
  const listed = [
    'anthropic/claude-3.5-haiku',
    'anthropic/claude-3.5-sonnet',
    'anthropic/claude-sonnet-4',
    'openai/gpt-4o',
    'openai/gpt-4o-mini',
    'qwen/qwen3-4b',
    'qwen/qwen3-4b:free',
    'qwen/qwen3-8b',
  ];
  expect((await nearestModels(id, listed))[0]).toBe(nearest);
  expect(await nearestModels(id, listed)).toHaveLength(3);
});

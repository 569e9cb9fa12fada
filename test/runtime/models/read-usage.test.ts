import { readUsage } from '../../../runtime/models/read-usage';
import type { JsonObject } from '../../../runtime/util/json';

const tokens = (usage: JsonObject) => {
  const { usage: read, contradiction } = readUsage(usage);
  return { ...read, contradiction };
};
const counted = (
  ...[prompt, completion, total, reasoning]: readonly [number, number, number?, number?]
): JsonObject => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  ...(total === undefined ? {} : { total_tokens: total }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
});

describe('reasoning', () => {
  it.each([
    ['within the completion', counted(10, 50, 60, 40), { completionTokens: 50, reasoningTokens: 40 }],
    ['within it, without a total', counted(10, 50, undefined, 40), { completionTokens: 50, reasoningTokens: 40 }],
    ['beside the completion', counted(10, 5, 50_015, 50_000), { completionTokens: 50_005, reasoningTokens: 50_000 }],
    ['beside it, and smaller', counted(10, 50, 100, 40), { completionTokens: 90, reasoningTokens: 40 }],
    ['at the top of the usage', { ...counted(10, 50, 60), reasoning_tokens: 40 }, { reasoningTokens: 40 }],
  ])('that is counted %s is billed once', (_where, usage, expected) => {
    expect(tokens(usage)).toMatchObject({ promptTokens: 10, ...expected, contradiction: undefined });
  });

  it.each([
    [
      'a total with more than all that is named',
      counted(10, 5, 50_015),
      { completionTokens: 50_005, reasoningTokens: 50_000 },
    ],
    ['a total with less than its parts', counted(10, 50, 20), { completionTokens: 50, reasoningTokens: 0 }],
    [
      'reasoning that the total does not have',
      counted(10, 5, 15, 100),
      { completionTokens: 105, reasoningTokens: 100 },
    ],
    ['reasoning beyond the completion and no total', counted(10, 5, undefined, 100), { completionTokens: 105 }],
    ['a total between the two ways', counted(10, 50, 80, 40), { completionTokens: 70, reasoningTokens: 60 }],
  ])('%s is billed by the highest reading, and told', (_what, usage, expected) => {
    expect(tokens(usage)).toMatchObject({
      ...expected,
      contradiction: expect.stringContaining('were read as') as string,
    });
  });

  it('that is nonsense is not billed', () => {
    const usage = { ...counted(10, 5, 15), completion_tokens_details: { reasoning_tokens: -3 }, reasoning_tokens: '9' };
    expect(tokens(usage)).toMatchObject({ completionTokens: 5, reasoningTokens: 0, contradiction: undefined });
    expect(readUsage(counted(10, 20_000_000, 20_000_010, 20_000_000)).usage).toMatchObject({
      completionTokens: 20_000_000,
    });
    expect(readUsage(counted(10, 15_000_000, undefined, 16_000_000)).usage).toBeUndefined();
  });
});

describe('counts of which one is missing', () => {
  it.each<[string, JsonObject, readonly [number, number]]>([
    ['the completion', { prompt_tokens: 50_000, completion_tokens: null, total_tokens: 52_000 }, [50_000, 2000]],
    ['the completion, beside no more', { prompt_tokens: 50_000, total_tokens: 50_000 }, [50_000, 0]],
    ['the completion, beside too small a total', { prompt_tokens: 50_000, total_tokens: 40 }, [50_000, 0]],
    ['the completion and the total', { prompt_tokens: 50_000 }, [50_000, 0]],
    ['the prompt', { completion_tokens: 2000, total_tokens: 52_000 }, [50_000, 2000]],
    ['the prompt and the total', { output_tokens: 2000 }, [0, 2000]],
    ['all but the total', { total_tokens: 52_000 }, [0, 52_000]],
  ])('are billed by what is known, and told: %s', (_what, usage, [promptTokens, completionTokens]) => {
    expect(readUsage(usage)).toMatchObject({
      usage: { promptTokens, completionTokens },
      isForeignUsage: true,
      contradiction: expect.stringContaining(`were read as ${promptTokens} + ${completionTokens}`) as string,
    });
  });

  it.each<[JsonObject]>([
    [{}],
    [{ total_tokens: 0 }],
    [{ prompt_tokens: 0, completion_tokens: null }],
    [{ prompt_tokens: 5, completion_tokens: '2' }],
    [{ prompt_tokens: -5, completion_tokens: 2 }],
  ])('say nothing where there is no figure, or nonsense: %j', (usage) => {
    expect(readUsage(usage)).toEqual({});
  });
});

describe('the cache', () => {
  const NONE = { cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
  it.each([
    ['cached_tokens of the details', { prompt_tokens_details: { cached_tokens: 40 } }, { cachedTokens: 40 }],
    ['prompt_cache_hit_tokens', { prompt_cache_hit_tokens: 40, prompt_cache_miss_tokens: 60 }, { cachedTokens: 40 }],
    ['cached_tokens beside the prompt', { cached_tokens: 40 }, { cachedTokens: 40 }],
    ['cache_write_tokens', { prompt_tokens_details: { cache_write_tokens: 30 } }, { cacheWriteTokens: 30 }],
    [
      'a name left at zero by a router',
      { prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 7 },
      { cachedTokens: 7 },
    ],
    [
      'what is kept for an hour',
      {
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      { cacheWriteTokens: 10, cacheWrite1hTokens: 20 },
    ],
    [
      'what is kept for an hour, without a sum',
      { cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 } },
      { cacheWriteTokens: 10, cacheWrite1hTokens: 20 },
    ],
  ])('is read from %s', (_name, fields: JsonObject, expected) => {
    expect(tokens({ ...counted(100, 5, 105), ...fields })).toMatchObject({ promptTokens: 100, ...NONE, ...expected });
  });

  it('never has more than the prompt, nor one token in two parts', () => {
    const details = { cached_tokens: 80, cache_write_tokens: 50 };
    expect(tokens({ ...counted(100, 5), prompt_tokens_details: details })).toMatchObject({
      promptTokens: 100,
      cachedTokens: 80,
      cacheWriteTokens: 20,
    });
  });

  it.each([
    ['there is more of it than prompt', counted(31, 5, 36), { cache_creation_input_tokens: 1253 }, 1284],
    ['the total says so', counted(100, 5, 155), { cache_read_input_tokens: 50 }, 150],
    ['the names are those of Anthropic', { input_tokens: 100, output_tokens: 5 }, { cache_read_input_tokens: 50 }, 150],
    ['nothing says so, it is not', counted(100, 5, 105), { cache_read_input_tokens: 50 }, 100],
  ])('is added to the prompt where %s', (...[, usage, fields, promptTokens]) => {
    expect(tokens({ ...usage, ...fields })).toMatchObject({
      promptTokens,
      completionTokens: 5,
      contradiction: undefined,
    });
  });
});

describe('the cost', () => {
  it.each([
    ['a figure', { cost: 0.25 }, '0.25'],
    ['the sum of an object', { cost: { input_tokens_cost: 0.1, total_cost: 0.25 } }, '0.25'],
    ['ticks', { cost_in_usd_ticks: 37_756_000 }, '0.0037756'],
    ['nothing', {}, undefined],
  ])('is read from %s', (_what, usage: JsonObject, expected) => {
    expect(readUsage(usage).providerCostUsd).toBe(expected);
  });

  it.each([
    ['says so', { is_byok: true, cost: 0, cost_details: { upstream_inference_cost: 0.5 } }, { costUsd: '0.5' }],
    ['says so and not what it cost', { is_byok: true, cost: 0, cost_details: null }, {}],
    [
      'charges less than the provider behind it',
      { cost: 0.95, cost_details: { upstream_inference_cost: 19 } },
      { costUsd: '19' },
    ],
    ['says that it is none', { is_byok: false, cost: 0.95, cost_details: { upstream_inference_cost: 19 } }, undefined],
    ['charges as much', { is_byok: false, cost: 0.5, cost_details: { upstream_inference_cost: 0.5 } }, undefined],
  ])('is a fee where the router %s', (_what, usage: JsonObject, ownKey) => {
    expect(readUsage(usage).ownKey).toEqual(ownKey);
  });
});

it('reads the names of Anthropic beside zeros under the others: what came from the cache is not a part of the prompt', () => {
  const zeros = { prompt_tokens: 0, completion_tokens: 0 };
  const usage = { input_tokens: 100, output_tokens: 50, cache_read_input_tokens: 60 };
  const expected = { promptTokens: 160, cachedTokens: 60, completionTokens: 50 };
  expect(tokens(usage)).toMatchObject(expected);
  expect(tokens({ ...zeros, ...usage })).toMatchObject(expected);
});

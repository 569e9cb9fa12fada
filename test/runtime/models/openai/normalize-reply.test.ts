import { normalizeReply } from '../../../../runtime/models/openai/normalize-reply';
import { withCode } from '../../../support/setup/matchers';

const reply = (message: unknown, rest: object = {}) =>
  normalizeReply({ choices: [{ message, finish_reason: 'stop' }], ...rest });
const usageOf = (usage: unknown) => reply({ content: 'Hi' }, { usage }).usage;

it.each([
  ['text', '<html>'],
  ['null', null],
  ['a list', []],
  ['an object without choices', {}],
  ['no choice', { choices: [] }],
  ['a choice without message', { choices: [{}] }],
  ['choices that are no list', { choices: { 0: { message: {} } } }],
])('refuses %s as a reply', (_what, body) => {
  expect(() => normalizeReply(body)).toThrow(withCode('LLM_BAD_REPLY'));
});

describe('content', () => {
  it('is text', () => expect(reply({ content: 'Hi' }).message.content).toBe('Hi'));
  it('may come as parts', () => {
    const parts = [{ type: 'text', text: 'Hel' }, { type: 'image' }, null, 'x', { type: 'text', text: 'lo' }];
    expect(reply({ content: parts }).message.content).toBe('Hello');
  });
  it.each([[undefined], [null], [5], [{ text: 'x' }]])('is null when it is %p', (content) => {
    expect(reply({ content }).message.content).toBeNull();
  });
});

describe('tool calls', () => {
  const call = (raw: unknown) => reply({ tool_calls: [raw] }).message.tool_calls?.[0];

  it.each([
    ['as text', '{"a":1}', '{"a":1}'],
    ['as an object', { a: 1 }, '{"a":1}'],
    ['as null', null, '{}'],
    ['as nothing', undefined, '{}'],
  ])('may have arguments %s', (_what, given, text) => {
    expect(call({ id: 'x', function: { name: 'f', arguments: given } })?.function.arguments).toBe(text);
  });

  it.each([[null], [5], ['x'], [{}], [{ function: 'f' }], [{ id: 7, function: { name: 7 } }]])(
    'of the form %p come as a call of nothing, which the loop answers',
    (raw) => {
      expect(call(raw)).toEqual({ id: '', type: 'function', function: { name: '', arguments: '{}' } });
    },
  );

  it('that are an empty list, or no list, are none', () => {
    expect(reply({ content: 'Hi', tool_calls: [] }).message).not.toHaveProperty('tool_calls');
    expect(reply({ content: 'Hi', tool_calls: {} }).message).not.toHaveProperty('tool_calls');
  });

  it('make the finish reason, whatever the provider says', () => {
    expect(reply({ tool_calls: [{}] }).finishReason).toBe('tool-calls');
  });
});

it.each([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['content_filter', 'content-filter'],
  ['end_turn', 'stop'],
  [undefined, 'stop'],
])('reads finish reason %s as %s', (raw, finishReason) => {
  expect(normalizeReply({ choices: [{ message: { content: 'x' }, finish_reason: raw }] }).finishReason).toBe(
    finishReason,
  );
});

describe('usage', () => {
  it('is counted with its cached and reasoning parts', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    expect(usageOf(usage)).toEqual({
      promptTokens: 100,
      completionTokens: 20,
      cachedTokens: 40,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 5,
    });
  });

  it.each([
    ['half there and half nonsense', { prompt_tokens: 100, completion_tokens: '20' }],
    ['NaN', { prompt_tokens: Number.NaN, completion_tokens: 20 }],
    ['infinite', { prompt_tokens: Infinity, completion_tokens: 20 }],
    ['more than a whole run may write into the ledger', { prompt_tokens: 1e9, completion_tokens: 20 }],
  ])('that is %s is unknown', (_what, usage) => {
    expect(usageOf(usage)).toBeUndefined();
  });

  it('never has more cached or reasoning tokens than tokens', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 999 },
      completion_tokens_details: { reasoning_tokens: -3 },
    };
    expect(usageOf(usage)).toMatchObject({
      cachedTokens: 10,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 0,
    });
  });

  it('fits into the columns of the ledger, however long the run', () => {
    const most = usageOf({ prompt_tokens: 20_000_000, completion_tokens: 20_000_000 });
    const callsOfOneRun = 51;
    expect(((most?.promptTokens ?? 0) + (most?.completionTokens ?? 0)) * callsOfOneRun).toBeLessThan(2 ** 31);
  });
});

describe("the provider's own cost", () => {
  const costOf = (cost: unknown) => reply({ content: 'x' }, { usage: { cost } }).providerCostUsd;

  it.each([
    [0.00039, '0.00039'],
    [1e-9, '0.000000001'],
    [12, '12'],
    [0, '0'],
  ])('%p is decimal text %s', (cost, text) => expect(costOf(cost)).toBe(text));
  it.each([[-1], ['0.1'], [Number.NaN], [1e300], [null]])('%p is none', (cost) => expect(costOf(cost)).toBeUndefined());
});

it('makes ids that a database takes', () => {
  const { modelReturned, providerRequestId } = reply({ content: 'x' }, { model: 'a\0b\ud800', id: 'x'.repeat(1000) });
  expect(modelReturned).toBe('ab\ufffd');
  expect(providerRequestId).toHaveLength(200);
  expect(reply({ content: 'x' }, { model: 7, id: '' })).toMatchObject({
    modelReturned: undefined,
    providerRequestId: undefined,
  });
});

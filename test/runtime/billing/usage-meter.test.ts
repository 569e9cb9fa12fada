import type { ModelReply } from '../../../runtime';
import { createUsageMeter } from '../../../runtime/billing/usage-meter';
import { usageOf } from '../../support/values/usage-of';

const PRICES = [
  { modelId: 'a/asked', inputPer1M: '1', outputPer1M: '10' },
  { modelId: 'a/answered', inputPer1M: '2', outputPer1M: '20' },
];
const answered = { sent: 1, answered: 1 };

function reply(promptTokens: number, completionTokens: number, more: Partial<ModelReply> = {}): ModelReply {
  return {
    message: { role: 'assistant', content: 'yes' },
    finishReason: 'stop',
    usage: usageOf(promptTokens, completionTokens),
    ...more,
  };
}

it('bills a call at the price of the model that was asked, whatever the provider calls it', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ step: 1, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/answered' }) });
  expect(record).toMatchObject({ modelBilled: 'a/asked', modelReturned: 'a/answered', costUsd: '0.000011' });
  expect(meter.warnings()).toEqual([]);
});

it('bills each call at the price of the model that answered it when the asked one has none', () => {
  const meter = createUsageMeter({ modelId: 'a/router', prices: PRICES });
  meter.add({ step: 1, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/answered' }) });
  meter.add({ step: 2, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/asked' }) });
  expect(meter.totals()).toMatchObject({ costUsd: '0.00003300', modelBilled: 'a/asked' });
});

it('counts the tokens of a model without a price at no cost, and says so once', () => {
  const meter = createUsageMeter({ modelId: 'a/unpriced', prices: PRICES });
  meter.add({ step: 1, attempts: answered, reply: reply(5, 5) });
  meter.add({ step: 2, attempts: answered, reply: reply(5, 5) });
  expect(meter.totals()).toMatchObject({
    usage: { promptTokens: 10, completionTokens: 10 },
    costUsd: '0.00000000',
    modelBilled: 'a/unpriced',
  });
  expect(meter.warnings()).toMatchObject([{ code: 'USAGE_UNPRICED' }]);
});

it('counts a reply whose usage is neither reported nor estimated as zero and as unknown', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ step: 3, attempts: answered, reply: reply(0, 0, { usage: undefined }) });
  expect(record?.unansweredRequests).toBe(1);
  expect(meter.totals()).toMatchObject({ usage: { promptTokens: 0 }, costUsd: '0.00000000' });
  expect(meter.warnings()).toMatchObject([{ code: 'USAGE_UNKNOWN' }]);
});

describe("the provider's cost", () => {
  const PER_CALL = '0.00012';
  const codes = (...replies: ModelReply[]): string[] => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    replies.forEach((one, index) => meter.add({ step: index + 1, attempts: answered, reply: one }));
    return meter.warnings().map(({ code }) => code);
  };
  const saying = (providerCostUsd: string, more: Partial<ModelReply> = {}): ModelReply =>
    reply(100, 2, { providerCostUsd, ...more });

  it('is booked where the usage cannot be read, and that is told', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    const record = meter.add({ step: 3, attempts: answered, reply: saying('0.5', { usage: undefined }) });
    expect(record).toMatchObject({
      costUsd: '0.5',
      providerCostUsd: '0.5',
      modelBilled: 'a/asked',
      costBasis: 'provider',
    });
    expect(meter.totals()).toMatchObject({ costUsd: '0.50000000', providerCostUsd: '0.5' });
    expect(meter.warnings()).toMatchObject([
      { code: 'COST_FROM_PROVIDER', message: expect.stringMatching(/call 3 .* \$0\.5\.$/) as string },
    ]);
  });

  it('is booked also for a model without a price, and where the counts have foreign names', () => {
    const meter = createUsageMeter({ modelId: 'a/unpriced', prices: PRICES });
    meter.add({ step: 1, attempts: answered, reply: saying('0.5', { usage: undefined }) });
    meter.add({ step: 2, attempts: answered, reply: saying('0.25', { isForeignUsage: true }) });
    expect(meter.totals()).toMatchObject({ costUsd: '0.75000000', usage: { promptTokens: 100 } });
    expect(meter.warnings().map(({ code }) => code)).toEqual(['COST_FROM_PROVIDER', 'COST_FROM_PROVIDER']);
  });

  it('is booked where the usage can be read and there is no price, and both are told', () => {
    const meter = createUsageMeter({ modelId: 'a/unpriced', prices: PRICES });
    const record = meter.add({ step: 1, attempts: answered, reply: saying('0.5') });
    expect(record).toMatchObject({ costUsd: '0.5', costBasis: 'provider', usage: { promptTokens: 100 } });
    expect(meter.warnings().map(({ code }) => code)).toEqual(['USAGE_UNPRICED', 'COST_FROM_PROVIDER']);
  });

  it('is no mark of a call whose tokens were priced', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    expect(meter.add({ step: 1, attempts: answered, reply: saying(PER_CALL) })?.costBasis).toBeUndefined();
  });

  it('of a foreign format is no more than zero, so the tokens are priced', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    meter.add({ step: 1, attempts: answered, reply: saying('0', { isForeignUsage: true, ownKey: {} }) });
    expect(meter.totals().costUsd).toBe('0.00012000');
    expect(meter.warnings()).toEqual([]);
  });

  it.each([
    ['the same', PER_CALL, []],
    ['1 % more', '0.0001212', []],
    ['rounded', '0.0001', ['COST_DIFFERS']],
    ['2 % more', '0.0001225', ['COST_DIFFERS']],
    ['2 % less', '0.0001176', ['COST_DIFFERS']],
    ['nothing', '0', ['COST_DIFFERS']],
  ])('that is %s is told from 1 %% on', (_what, cost, expected) => {
    expect(codes(saying(cost))).toEqual(expected);
  });

  it('that differs by less than it is rounded by is the same', () => {
    expect(codes(reply(1, 0, { providerCostUsd: '0.0000015' }))).toEqual([]);
    expect(codes(reply(1, 0, { providerCostUsd: '0.0000016' }))).toEqual(['COST_DIFFERS']);
  });

  it('that differs in several calls is told once, with both sums', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    for (const step of [1, 2, 3]) {
      meter.add({ step, attempts: answered, reply: saying(step === 2 ? PER_CALL : '0.0002') });
    }
    expect(meter.warnings()).toMatchObject([
      { code: 'COST_DIFFERS', message: expect.stringMatching(/\$0\.0004 for 2 .*\$0\.00024 by/) as string },
    ]);
  });

  it("with a key of one's own is the upstream figure, or none", () => {
    expect(codes(saying('0.000006', { ownKey: {} }))).toEqual([]);
    expect(codes(saying('0.000006', { ownKey: { costUsd: PER_CALL } }))).toEqual([]);
    expect(codes(saying(PER_CALL, { ownKey: { costUsd: '0.002' } }))).toEqual(['COST_DIFFERS']);
  });
});

describe('a reply that is no answer and says what it used', () => {
  const wasted = (modelId = 'a/asked') => {
    const { usage } = reply(10, 1);
    return { usage, modelId, providerCostUsd: '0.00002', providerRequestId: 'gen-1' };
  };

  it('is billed beside the answer, in the one record of the call', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    const attempts = { sent: 3, answered: 3, wasted: [wasted(), wasted()] };
    const record = meter.add({ step: 1, attempts, reply: reply(100, 2, { providerRequestId: 'gen-3' }) });
    expect(record).toMatchObject({
      usage: { promptTokens: 120, completionTokens: 4 },
      costUsd: '0.00016',
      providerCostUsd: '0.00004',
      providerRequestId: 'gen-3',
      unansweredRequests: 0,
    });
    expect(meter.totals()).toMatchObject({ costUsd: '0.00016000', usage: { promptTokens: 120 } });
    expect(meter.warnings()).toMatchObject([
      { code: 'REPLIES_WASTED', message: expect.stringContaining('2 response') as string },
    ]);
  });

  it('says nothing of how long the transcript is', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    meter.add({ step: 1, attempts: { sent: 2, answered: 2, wasted: [wasted()] }, reply: reply(100, 2) });
    expect(meter.lastUsage()).toMatchObject({ promptTokens: 100, completionTokens: 2 });
  });

  it('is billed when no answer comes, and the requests without one stay unknown', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    const attempts = { sent: 2, answered: 1, wasted: [wasted()] };
    const record = meter.add({ step: 1, attempts, errorCode: 'LLM_TIMEOUT' });
    expect(record).toMatchObject({ costUsd: '0.00002', unansweredRequests: 1, errorCode: 'LLM_TIMEOUT' });
    expect(meter.warnings().map(({ code }) => code)).toEqual(['REPLIES_WASTED', 'USAGE_UNKNOWN']);
  });

  it('is billed at the price of the model that was asked for it, also when the fallback answered', () => {
    const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
    const fallback = { name: 'a/answered', code: 'LLM_UNAVAILABLE' } as const;
    const record = meter.add({
      step: 1,
      attempts: { sent: 2, answered: 2, wasted: [wasted()] },
      reply: reply(10, 1, { fallback }),
    });
    expect(record).toMatchObject({ costUsd: '0.00006', modelBilled: 'a/answered' });
  });
});

it('tells of counts that contradict one another once, with the first', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  for (const step of [1, 2]) {
    meter.add({ step, attempts: answered, reply: reply(1, 1, { contradiction: `this and that of ${step}` }) });
  }
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_CONTRADICTORY', message: expect.stringMatching(/ 2 case.*call 1, this and that of 1/) as string },
  ]);
});

it('keeps a call open that was sent and never answered', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  expect(meter.add({ step: 1, attempts: { sent: 2, answered: 1 }, errorCode: 'LLM_TIMEOUT' })).toBeUndefined();
  expect(meter.find(1)).toBeUndefined();
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_UNKNOWN', message: expect.stringContaining('1 request') as string },
  ]);
});

it('closes a call that the provider refused: it used nothing', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ step: 1, attempts: { sent: 3, answered: 3 }, errorCode: 'LLM_RATE_LIMITED' });
  expect(record).toMatchObject({ costUsd: '0', unansweredRequests: 0, errorCode: 'LLM_RATE_LIMITED' });
  expect(meter.warnings()).toEqual([]);
});

it('says how many requests of an answered call stayed without an answer', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ step: 1, attempts: { sent: 3, answered: 1 }, reply: reply(1, 1) });
  expect(record).toMatchObject({ unansweredRequests: 2, costUsd: '0.000011' });
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_UNKNOWN', message: expect.stringContaining('2 request') as string },
  ]);
});

it("adds the provider's own figures beside ours, and shows none when it gave none", () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  expect(meter.totals().providerCostUsd).toBeUndefined();
  meter.add({ step: 1, attempts: answered, reply: reply(1, 1, { providerCostUsd: '0.1' }) });
  meter.add({ step: 2, attempts: answered, reply: reply(1, 1) });
  meter.add({ step: 3, attempts: answered, reply: reply(1, 1, { providerCostUsd: '0.2' }) });
  expect(meter.totals()).toMatchObject({ providerCostUsd: '0.3', costUsd: '0.00003300' });
});

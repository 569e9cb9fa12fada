import { createUsageMeter } from '../../../runtime/billing/usage-meter';
import type { ModelReply } from '../../../runtime';

const PRICES = [
  { modelId: 'a/asked', inputPer1M: '1', outputPer1M: '10' },
  { modelId: 'a/answered', inputPer1M: '2', outputPer1M: '20' },
];
const answered = { sent: 1, answered: 1 };

function reply(promptTokens: number, completionTokens: number, more: Partial<ModelReply> = {}): ModelReply {
  return {
    message: { role: 'assistant', content: 'yes' },
    finishReason: 'stop',
    usage: {
      promptTokens,
      completionTokens,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 0,
    },
    ...more,
  };
}

it('bills a call at the price of the model that was asked, whatever the provider calls it', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ callNo: 1, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/answered' }) });
  expect(record).toMatchObject({ modelBilled: 'a/asked', modelReturned: 'a/answered', costUsd: '0.000011' });
  expect(meter.warnings()).toEqual([]);
});

it('bills each call at the price of the model that answered it when the asked one has none', () => {
  const meter = createUsageMeter({ modelId: 'a/router', prices: PRICES });
  meter.add({ callNo: 1, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/answered' }) });
  meter.add({ callNo: 2, attempts: answered, reply: reply(1, 1, { modelReturned: 'a/asked' }) });
  expect(meter.totals()).toMatchObject({ costUsd: '0.00003300', modelBilled: 'a/asked' });
});

it('counts the tokens of a model without a price at no cost, and says so once', () => {
  const meter = createUsageMeter({ modelId: 'a/unpriced', prices: PRICES });
  meter.add({ callNo: 1, attempts: answered, reply: reply(5, 5) });
  meter.add({ callNo: 2, attempts: answered, reply: reply(5, 5) });
  expect(meter.totals()).toMatchObject({
    usage: { promptTokens: 10, completionTokens: 10 },
    costUsd: '0.00000000',
    modelBilled: 'a/unpriced',
  });
  expect(meter.warnings()).toMatchObject([{ code: 'USAGE_UNPRICED' }]);
});

it('counts a reply without usage as zero, and names the call', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  meter.add({ callNo: 3, attempts: answered, reply: reply(0, 0, { usage: undefined, providerCostUsd: '0.5' }) });
  expect(meter.totals()).toMatchObject({ usage: { promptTokens: 0 }, providerCostUsd: '0.5' });
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_MISSING', message: expect.stringContaining('call 3') as string },
  ]);
});

it('keeps a call open that was sent and never answered', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  expect(meter.add({ callNo: 1, attempts: { sent: 2, answered: 1 }, errorCode: 'LLM_TIMEOUT' })).toBeUndefined();
  expect(meter.find(1)).toBeUndefined();
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_UNKNOWN', message: expect.stringContaining('1 request') as string },
  ]);
});

it('closes a call that the provider refused: it used nothing', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ callNo: 1, attempts: { sent: 3, answered: 3 }, errorCode: 'LLM_RATE_LIMITED' });
  expect(record).toMatchObject({ costUsd: '0', unansweredRequests: 0, errorCode: 'LLM_RATE_LIMITED' });
  expect(meter.warnings()).toEqual([]);
});

it('says how many requests of an answered call stayed without an answer', () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  const record = meter.add({ callNo: 1, attempts: { sent: 3, answered: 1 }, reply: reply(1, 1) });
  expect(record).toMatchObject({ unansweredRequests: 2, costUsd: '0.000011' });
  expect(meter.warnings()).toMatchObject([
    { code: 'USAGE_UNKNOWN', message: expect.stringContaining('2 request') as string },
  ]);
});

it("adds the provider's own figures beside ours, and shows none when it gave none", () => {
  const meter = createUsageMeter({ modelId: 'a/asked', prices: PRICES });
  expect(meter.totals().providerCostUsd).toBeUndefined();
  meter.add({ callNo: 1, attempts: answered, reply: reply(1, 1, { providerCostUsd: '0.1' }) });
  meter.add({ callNo: 2, attempts: answered, reply: reply(1, 1) });
  meter.add({ callNo: 3, attempts: answered, reply: reply(1, 1, { providerCostUsd: '0.2' }) });
  expect(meter.totals()).toMatchObject({ providerCostUsd: '0.3', costUsd: '0.00003300' });
});

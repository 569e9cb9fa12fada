import { reservation } from '../../../runtime/billing/budget';
import { callCost, callSaving, roundCost } from '../../../runtime/billing/cost';
import { createUsageMeter } from '../../../runtime/billing/usage-meter';
import type { ModelPrice, Usage } from '../../../runtime/contracts/ledger/usage';
import { usageOf } from '../../support/values/usage-of';

const used = (usage: Partial<Usage>): Usage => ({ ...usageOf(0, 0), ...usage });
const MINI: ModelPrice = { modelId: 'openai/gpt-4o-mini', inputPer1M: '0.15', outputPer1M: '0.60' };
const SONNET: ModelPrice = {
  modelId: 'anthropic/claude-3.5-sonnet',
  inputPer1M: '3',
  outputPer1M: '15',
  cachedInputPer1M: '0.30',
  cacheWritePer1M: '3.75',
  cacheWrite1hPer1M: '6',
};

// Worked by hand, in millionths of a dollar.
interface Case {
  readonly usage: Partial<Usage>;
  readonly price: ModelPrice;
  readonly cost: string;
  readonly saved?: string;
}
const CASES: readonly [what: string, Case][] = [
  // 1250 x 0.15 + 340 x 0.60 = 187.5 + 204
  ["the documents' example", { usage: { promptTokens: 1250, completionTokens: 340 }, price: MINI, cost: '0.00039150' }],
  // The same: no price for the cache means as input, so it saves nothing.
  [
    'a cache without a price of its own',
    {
      usage: { promptTokens: 1250, completionTokens: 340, cachedTokens: 1024 },
      price: MINI,
      cost: '0.00039150',
      saved: '0.00000000',
    },
  ],
  // 226 x 0.15 + 1024 x 0.075 + 340 x 0.60 = 33.9 + 76.8 + 204; saved 1024 x 0.075
  [
    'half the price for what was cached',
    {
      usage: { promptTokens: 1250, completionTokens: 340, cachedTokens: 1024 },
      price: { ...MINI, cachedInputPer1M: '0.075' },
      cost: '0.00031470',
      saved: '0.00007680',
    },
  ],
  // 1500 x 3 + 6000 x 0.30 + 2000 x 3.75 + 500 x 6 + 800 x 15 = 4500 + 1800 + 7500 + 3000 + 12000; plain 42000
  [
    'reads and writes of both kinds',
    {
      usage: {
        promptTokens: 10_000,
        completionTokens: 800,
        cachedTokens: 6000,
        cacheWriteTokens: 2000,
        cacheWrite1hTokens: 500,
      },
      price: SONNET,
      cost: '0.02880000',
      saved: '0.01320000',
    },
  ],
  // 100 x 3 + 1900 x 3.75 + 10 x 15 = 300 + 7125 + 150; plain 6150
  [
    'a first call, which writes only, at a loss',
    {
      usage: { promptTokens: 2000, completionTokens: 10, cacheWriteTokens: 1900 },
      price: SONNET,
      cost: '0.00757500',
      saved: '-0.00142500',
    },
  ],
  // 1000 x 3.75: an hour's price that is not known is that of five minutes.
  [
    'a write for an hour without a price of its own',
    {
      usage: { promptTokens: 1000, cacheWrite1hTokens: 1000 },
      price: { ...SONNET, cacheWrite1hPer1M: undefined },
      cost: '0.00375000',
      saved: '-0.00075000',
    },
  ],
  // 210 x 1.1 + 1024 x 0.55 + 137 x 4.4 + 640 x 5 = 231 + 563.2 + 602.8 + 3200; saved 1024 x 0.55
  [
    'reasoning at a price of its own',
    {
      usage: { promptTokens: 1234, completionTokens: 777, cachedTokens: 1024, reasoningTokens: 640 },
      price: {
        modelId: 'a/thinker',
        inputPer1M: '1.1',
        outputPer1M: '4.4',
        cachedInputPer1M: '0.55',
        reasoningPer1M: '5',
      },
      cost: '0.00459700',
      saved: '0.00056320',
    },
  ],
  // 1 x 0.033 = 0.033 millionths, half a unit of the eighth place is 0.005
  [
    'a single cached token, rounded once',
    {
      usage: { promptTokens: 1, cachedTokens: 1 },
      price: { ...MINI, cachedInputPer1M: '0.033' },
      cost: '0.00000003',
      saved: '0.00000012',
    },
  ],
];

it.each(CASES)('bills %s', (_what, { usage, price, cost, saved }) => {
  expect(roundCost(callCost(used(usage), price))).toBe(cost);
  const saving = callSaving(used(usage), price);
  expect(saving === undefined ? undefined : roundCost(saving)).toBe(saved);
});

it('adds up what a run has saved, exactly, and rounds it once', () => {
  const meter = createUsageMeter({ modelId: SONNET.modelId, prices: [SONNET] });
  const answered = { sent: 1, answered: 1 };
  const add = (step: number, usage: Partial<Usage>) =>
    meter.add({
      step,
      attempts: answered,
      reply: { message: { role: 'assistant', content: 'yes' }, finishReason: 'stop', usage: used(usage) },
    });
  expect(add(1, { promptTokens: 2000, completionTokens: 10 })?.savedUsd).toBeUndefined();
  expect(meter.totals().savedUsd).toBeUndefined();
  expect(add(2, { promptTokens: 2000, cacheWriteTokens: 2000 })?.savedUsd).toBe('-0.0015');
  expect(add(3, { promptTokens: 2001, cachedTokens: 2001 })?.savedUsd).toBe('0.0054027');
  expect(meter.totals().savedUsd).toBe('0.00390270');
});

it('holds room for a call as if every token were of the dearest kind', () => {
  const call = { promptTokens: 1000, completionTokens: 100 };
  const hold = (price: ModelPrice) => reservation({ monthly: { costLimitUsd: '5' } }, call, [price])?.holdCostUsd;
  expect(hold(SONNET)).toBe('0.0075');
  expect(hold({ ...SONNET, cacheWrite1hPer1M: undefined })).toBe('0.00525');
  expect(hold({ ...MINI, cachedInputPer1M: '0.075', reasoningPer1M: '6' })).toBe('0.00075');
});

import { readBudget } from '../../../../runtime/billing/budget';
import type { ModelPrice } from '../../../../runtime/contracts/ledger/usage';
import type { Model } from '../../../../runtime/contracts/model';
import type { TenantSettings, Tier } from '../../../../runtime/contracts/tenant';
import { chooseModel } from '../../../../runtime/run/plan/choose-model';
import { readTask } from '../../../../runtime/tasks/read-task';
import { withCode } from '../../../support/setup/matchers';
import { TENANT_ID } from '../../../support/values/memory-stores';

const model: Model = { generate: () => Promise.reject(new Error('not asked')) };
const price = (modelId: string, inputPer1M = '1', more: Partial<ModelPrice> = {}): ModelPrice => ({
  modelId,
  inputPer1M,
  outputPer1M: inputPer1M,
  ...more,
});
const NANO = 'qwen/qwen3-4b:free';

function choose(given: {
  readonly tier?: string;
  readonly model_override?: string;
  readonly prices?: readonly ModelPrice[];
  readonly tiers?: readonly Tier[];
  readonly settings?: TenantSettings;
  readonly fallback?: string;
}) {
  const { tier = 'nano', model_override, prices = [price(NANO, '0')], tiers = [], settings = {}, fallback } = given;
  const { config } = readTask({
    config: { agent_tier: tier, model_override, message: 'Hi' },
    meta: { tenant_id: TENANT_ID },
  });
  return chooseModel({
    config,
    asked: config,
    snapshot: { tenant: { id: 't', isActive: true, settings }, tiers, prices, tools: [] },
    budget: readBudget(settings, {}),
    models: (name) => [{ name, model }],
    connected: fallback === undefined ? {} : { fallback: { name: fallback, model } },
  });
}

describe('nothing is free but', () => {
  it('a tier whose row says so, on its own model, while that has no price above zero', () => {
    expect(choose({}).isFree).toBe(true);
    expect(choose({ prices: [] }).isFree).toBe(true);
    expect(choose({ model_override: NANO }).isFree).toBe(true);
  });

  it.each([
    ['a row that does not say so, whatever it is called', { tiers: [{ code: 'nano', name: 'Nano', modelId: NANO }] }],
    ['a paid model on the row', { prices: [price(NANO)] }],
    ['a price for writing into the cache alone', { prices: [price(NANO, '0', { cacheWritePer1M: '0.01' })] }],
    ['a model that is not its own', { model_override: 'openai/gpt-4o-mini' }],
    ['another spelling of its own', { model_override: 'Qwen/qwen3-4b:free' }],
    ['a fallback that is not its own', { fallback: 'openai/gpt-4o-mini' }],
    ['another tier', { tier: 'small' }],
  ])('and not %s', (_what, given) => {
    expect(choose(given).isFree).toBe(false);
  });

  it('and a tier of any other name', () => {
    const tiers = [{ code: 'house', name: 'House', modelId: 'a/house', isFree: true }];
    expect(choose({ tier: 'house', tiers }).isFree).toBe(true);
  });
});

describe('with a money limit', () => {
  const settings = { monthlyCostLimitUsd: '5' };
  const prices = [
    price('anthropic/claude-3-5-sonnet'),
    price('openai/gpt-4o-mini'),
    price('twice/a-1.0'),
    price('twice/a-1-0'),
  ];

  it.each([
    'anthropic/claude-3.5-sonnet',
    'Anthropic/Claude-3-5-Sonnet',
    'anthropic:claude-3.5-sonnet',
    'OPENAI/gpt-4o-mini',
  ])('another spelling of a model that has a price has that price: %s', (model_override) => {
    expect(choose({ settings, prices, model_override }).modelIds).toHaveLength(1);
  });

  it.each([
    'vendor/unpriced',
    'openai/gpt-4o-mini:free',
    'openai/gpt-4o-mini:nitro',
    'openai/gpt-4o-mini:online',
    'openai/gpt-4o-mini-2024-07-18',
    'gpt-4o-mini',
    'openai/gpt-4o-mini/',
    'openai//gpt-4o-mini',
    'openrouter/openai/gpt-4o-mini',
    'openai/gpt-4o-mini\u200b',
    'twice/A-1.0',
  ])('a model without a price of its own is refused: %s', (model_override) => {
    expect(() => choose({ settings, prices, model_override })).toThrow(withCode('MODEL_UNPRICED'));
  });

  it('so is a fallback without one', () => {
    const given = { tier: 'pro', settings, prices };
    expect(choose({ ...given, fallback: 'anthropic/claude-3-5-sonnet' }).modelIds).toHaveLength(2);
    expect(() => choose({ ...given, fallback: 'vendor/unpriced' })).toThrow(withCode('MODEL_UNPRICED'));
  });
});

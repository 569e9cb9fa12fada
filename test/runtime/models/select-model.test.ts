import type { TenantSettings, Tier } from '../../../runtime/contracts/tenant';
import { type ModelChoice, normalizeModelId, selectModel } from '../../../runtime/models/select-model';
import { withCode } from '../../support/setup/matchers';

const choose = (choice: Partial<ModelChoice>) => selectModel({ settings: {}, tierRows: [], ...choice });
const capped: TenantSettings = { maxTier: 'optima' };

it.each([
  ['nano', { modelId: 'qwen/qwen3-4b:free', maxTokens: 500, temperature: 0.1 }],
  ['small', { modelId: 'qwen/qwen3-8b', maxTokens: 800, temperature: 0.2 }],
  ['optima', { modelId: 'anthropic/claude-3-haiku', maxTokens: 1000, temperature: 0.3 }],
  ['pro', { modelId: 'openai/gpt-4o-mini', maxTokens: 2000, temperature: 0.5 }],
  ['expert', { modelId: 'anthropic/claude-3-5-sonnet', maxTokens: 4000, temperature: 0.7 }],
])('knows tier %s without a database row', (code, tier) => {
  expect(choose({ tier: code })).toMatchObject({ modelId: tier.modelId, tier });
});

it("takes the task's tier, else the tenant's default, else nano", () => {
  expect(choose({ tier: 'pro', settings: { defaultTier: 'small' } }).tier.code).toBe('pro');
  expect(choose({ settings: { defaultTier: 'small' } }).tier.code).toBe('small');
  expect(choose({}).tier.code).toBe('nano');
});

it('names the known tiers when a tier is unknown', () => {
  expect(() => choose({ tier: 'gold' })).toThrow(
    withCode('TIER_UNKNOWN', {
      message: 'Tier "gold" is not configured. Known tiers: nano, small, optima, pro, expert.',
    }),
  );
});

it('does not find a tier on the prototype', () => {
  expect(() => choose({ tier: 'constructor' })).toThrow(withCode('TIER_UNKNOWN'));
});

describe("the database's tiers", () => {
  const gold: Tier = { code: 'gold', name: 'Gold', modelId: 'vendor/gold', rank: 6 };
  const pro: Tier = { code: 'pro', name: 'Pro', modelId: 'vendor/pro', maxTokens: 9 };

  it('join and replace the built-in ones', () => {
    expect(choose({ tier: 'gold', tierRows: [gold] }).modelId).toBe('vendor/gold');
    expect(choose({ tier: 'pro', tierRows: [pro] })).toMatchObject({ modelId: 'vendor/pro', tier: { maxTokens: 9 } });
  });

  it('keep the rank of the tier that they replace when they have none', () => {
    expect(choose({ tier: 'pro', tierRows: [pro], settings: { maxTier: 'expert' } }).modelId).toBe('vendor/pro');
  });

  it('without a rank are above every limit', () => {
    const unranked = { ...gold, rank: undefined };
    expect(() => choose({ tier: 'gold', tierRows: [unranked], settings: { maxTier: 'expert' } })).toThrow(
      withCode('TIER_NOT_ALLOWED'),
    );
    expect(choose({ tier: 'gold', tierRows: [unranked], settings: { maxTier: 'gold' } }).modelId).toBe('vendor/gold');
  });
});

describe("the tenant's highest tier", () => {
  it('is itself allowed, and those below it', () => {
    expect(choose({ tier: 'optima', settings: capped }).tier.code).toBe('optima');
    expect(choose({ tier: 'nano', settings: capped }).tier.code).toBe('nano');
  });

  it('refuses tiers above it, also as the default', () => {
    const refused = withCode('TIER_NOT_ALLOWED');
    expect(() => choose({ tier: 'pro', settings: capped })).toThrow(refused);
    expect(() => choose({ settings: { ...capped, defaultTier: 'expert' } })).toThrow(refused);
  });

  it('that does not exist lets nobody through', () => {
    expect(() => choose({ tier: 'nano', settings: { maxTier: 'platinum' } })).toThrow(withCode('TIER_UNKNOWN'));
  });
});

describe('a model override', () => {
  it('keeps the limits of the tier', () => {
    expect(choose({ tier: 'pro', modelOverride: 'openai/gpt-4o' })).toMatchObject({
      modelId: 'openai/gpt-4o',
      tier: { code: 'pro', maxTokens: 2000, temperature: 0.5 },
    });
  });

  it('may be any model of a tier that the tenant may use, and no other', () => {
    const modelOverride = 'anthropic/claude-3-haiku';
    expect(choose({ tier: 'nano', settings: capped, modelOverride }).modelId).toBe(modelOverride);
    expect(() => choose({ tier: 'nano', settings: capped, modelOverride: 'openai/gpt-4o' })).toThrow(
      withCode('MODEL_NOT_ALLOWED'),
    );
  });

  it('may be any model, in a tier or in none, when the tenant has no highest tier', () => {
    expect(choose({ tier: 'nano', modelOverride: 'anthropic/claude-3-5-sonnet' }).modelId).toBe(
      'anthropic/claude-3-5-sonnet',
    );
    expect(choose({ tier: 'nano', modelOverride: 'vendor/in-no-tier' }).modelId).toBe('vendor/in-no-tier');
  });

  it.each([
    'ANTHROPIC/claude-3-haiku',
    'anthropic/claude-3-haiku:nitro',
    'claude-3-haiku',
    ' anthropic/claude-3-haiku',
  ])('under a highest tier is no other spelling of a model that is allowed: %s', (modelOverride) => {
    expect(() => choose({ tier: 'nano', settings: capped, modelOverride })).toThrow(withCode('MODEL_NOT_ALLOWED'));
  });
});

it.each(['', ' ', 'null'])('a highest tier that reads %j lets nobody through', (maxTier) => {
  expect(() => choose({ tier: 'nano', settings: { maxTier } })).toThrow(withCode('TIER_UNKNOWN'));
});

it('reads a colon between provider and model as a slash, and leaves the colon of an id alone', () => {
  expect(normalizeModelId('openai:gpt-4o')).toBe('openai/gpt-4o');
  expect(normalizeModelId('qwen/qwen3-4b:free')).toBe('qwen/qwen3-4b:free');
  expect(normalizeModelId('gpt-4o')).toBe('gpt-4o');
});

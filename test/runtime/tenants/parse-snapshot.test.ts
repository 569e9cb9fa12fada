import { parseSnapshot, type SnapshotColumns } from '../../../runtime/tenants/parse-snapshot';
import { createToolBuilder, type ToolBuilderOptions } from '../../../runtime/tools/build-tools';
import { withCode } from '../../support/setup/matchers';

function parse(columns: { settings?: unknown; tiers?: unknown[]; prices?: unknown[]; tools?: unknown[] } = {}) {
  const { settings = {}, tiers = [], prices = [], tools = [] } = columns;
  const text: SnapshotColumns = {
    id: 'a',
    is_active: true,
    settings: JSON.stringify(settings),
    tiers: JSON.stringify(tiers),
    prices: JSON.stringify(prices),
    tools: JSON.stringify(tools),
    servers: '[]',
    server_tools: '[]',
    secrets: '[]',
    channels: '{}',
    policy_version: 'v',
  };
  return parseSnapshot(text, new Map());
}
const settingsOf = (settings: unknown) => parse({ settings }).tenant.settings;
const toolOf = (tool: object) => parse({ tools: [{ code: 'add', ...tool }] }).tools[0];

describe('settings', () => {
  it('are read under the names of the database', () => {
    const settings = { default_tier: 'pro', max_tier: 'expert', max_iterations: 5, monthly_cost_limit_usd: 12.5 };
    expect(settingsOf(settings)).toEqual({
      defaultTier: 'pro',
      maxTier: 'expert',
      maxIterations: 5,
      monthlyCostLimitUsd: '12.5',
    });
  });

  it('may hold JSON in a text, as some databases do', () => {
    expect(settingsOf(JSON.stringify({ default_tier: 'pro' }))).toMatchObject({ defaultTier: 'pro' });
  });

  it.each([
    [null],
    [''],
    [[]],
    [5],
    [{ default_tier: '', max_iterations: -1 }],
    [{ max_iterations: 'many', max_tier: null }],
  ])('that make no sense count as not set: %j', (settings) => {
    expect(Object.values(settingsOf(settings)).every((value) => value === undefined)).toBe(true);
  });

  it.each([
    ['half a text', '{"default_tier":'],
    ['words', 'none'],
    ['too many values', { monthly_token_limit: 5, notes: Array.from({ length: 30_001 }, () => 1) }],
  ])('that cannot be read are refused, since limits may stand in them: %s', (_what, settings) => {
    expect(() => settingsOf(settings)).toThrow(withCode('SETTING_INVALID'));
    expect(() => settingsOf(settings)).toThrow('The setting settings of the tenant cannot be read');
  });

  it('keep a limit of the wrong type, so that it refuses instead of falling away', () => {
    expect(settingsOf({ max_tier: 5 }).maxTier).toBe('5');
    expect(settingsOf({ max_tier: ['pro'] }).maxTier).toBe('["pro"]');
    expect(settingsOf({ max_tier: '' }).maxTier).toBe('');
    expect(settingsOf({ monthly_cost_limit_usd: '' }).monthlyCostLimitUsd).toBe('');
    expect(settingsOf({ monthly_cost_limit_usd: false }).monthlyCostLimitUsd).toBe('false');
    for (const limit of ['5e-07', 5e-7, '5E-7']) {
      expect(settingsOf({ monthly_cost_limit_usd: limit }).monthlyCostLimitUsd).toBe('0.0000005');
    }
    expect(settingsOf({ monthly_token_limit: [] }).monthlyTokenLimit).toBe('[]');
  });

  it.each([
    ['monthly_cost_limit', 'monthly_cost_limit_usd'],
    ['monthly_cost_limit_eur', 'monthly_cost_limit_usd'],
    ['monthlyTokenLimit', 'monthly_token_limit'],
    ['run_per_minute', 'runs_per_minute'],
    ['mcp_allowed_host', 'mcp_allowed_hosts'],
    ['max_teir', 'max_tier'],
    ['max_iteration', 'max_iterations'],
    ['tool_confg', 'tool_config'],
    ['callback_host', 'callback_hosts'],
    ['disabled_tool', 'tool_config.disabled_tools'],
    ['enabled_tools', 'tool_config.enabled_tools'],
  ])('with a slip in what guards are refused: %s for %s', (key, meant) => {
    expect(() => settingsOf({ [key]: 1 })).toThrow(withCode('SETTING_INVALID'));
    expect(() => settingsOf({ [key]: 1 })).toThrow(`${key} of the tenant`);
    expect(() => settingsOf({ [key]: 1 })).toThrow(`(did you mean "${meant}"?)`);
  });

  it('of other programs are left alone', () => {
    const foreign = {
      ...{
        ai_mode: 'auto',
        debounce_seconds: 5,
        currency: 'BRL',
        max_operators: 3,
        max_dialogs_per_month: 100,
        max_time: 5,
        min_tier: 'x',
      },
      ...{ allowed_hosts: [], cost_limit: 1, cost_limit_usd: 1, monthly_limit: 1, token_limit: 1, per_minute: 1 },
      ...{ monthly_message_limit: 1, bot_config: {}, callback_url: 'http://x/', tools: [], default_model: 'm' },
    };
    expect(Object.values(settingsOf(foreign)).every((value) => value === undefined)).toBe(true);
  });

  it('that are told to models are read, and guard nothing', () => {
    const told = { agent_personality: 'kind', working_hours: { mon: '9-18' }, timezone: 'UTC', language: 'pt' };
    expect(settingsOf({ ...told, tell_context: true })).toMatchObject({
      ...{ agentPersonality: 'kind', workingHours: '{"mon":"9-18"}', timeZone: 'UTC', language: 'pt' },
      tellContext: true,
    });
    expect(settingsOf({ timezone: 7, tell_context: 'yes', language: '' })).toMatchObject({
      ...{ timeZone: undefined, tellContext: undefined, language: undefined },
    });
  });

  it('take a number in a text for a number', () => expect(settingsOf({ max_iterations: '7' }).maxIterations).toBe(7));
  it.each([
    [90, 90],
    ['0.5', 0.5],
    [0, undefined],
    [86_401, undefined],
    ['long', undefined],
    [true, undefined],
  ])('take a silence of %j as %j', (given, seconds) => {
    expect(settingsOf({ model_silence_seconds: given }).modelSilenceSeconds).toBe(seconds);
  });
});

describe('tools', () => {
  it('have defaults for every column that may be null', () => {
    expect(toolOf({})).toEqual({
      code: 'add',
      description: 'add',
      parametersSchema: undefined,
      endpoint: null,
      authHeader: null,
      timeoutMs: null,
      transport: 'hook',
      mcpTool: null,
      allowedTiers: undefined,
      customConfig: {},
      transportConfig: {},
    });
  });

  it.each([
    [null, undefined],
    [
      ['pro', 'expert'],
      ['pro', 'expert'],
    ],
    ['{pro,expert}', ['pro', 'expert']],
    ['["pro","expert"]', ['pro', 'expert']],
    ['pro, expert', ['pro', 'expert']],
    ['', []],
    [5, []],
    [[], []],
  ])('have tiers %j as %j', (allowed_tiers, expected) =>
    expect(toolOf({ allowed_tiers })?.allowedTiers).toEqual(expected),
  );

  it('may have custom_config in a text, or none', () => {
    expect(toolOf({ custom_config: '{"timeout_ms":5}' })?.customConfig).toEqual({ timeout_ms: 5 });
    expect(toolOf({ custom_config: ' ' })).toMatchObject({ customConfig: {} });
    expect(toolOf({ custom_config: ' ' })).not.toHaveProperty('secretFailure');
  });

  it.each([
    ['custom_config', 'oops'],
    ['transport_config', '{"a":'],
    ['custom_config', `{"permissions":{},"notes":[${'1,'.repeat(30_000)}1]}`],
  ])('are not offered without their rules, where %s is a text that cannot be read', async (column, text) => {
    const row = toolOf({ [column]: text, mcp_endpoint: 'http://x/' });
    const options = { transports: { hook: { call: jest.fn() } }, defaultTimeoutMs: 1 } as unknown as ToolBuilderOptions;
    const { tools, warnings } = await createToolBuilder(options)(row === undefined ? [] : [row]);
    expect([tools.length, warnings[0]?.code]).toEqual([0, 'TOOL_SKIPPED']);
    expect(warnings[0]?.message).toContain(`its ${column} cannot be read`);
  });

  it('are not lost for a time-out that is no number', () => {
    expect(toolOf({ timeout_ms: 'soon' })).toMatchObject({ code: 'add', timeoutMs: null });
  });
});

describe('a row that cannot be used', () => {
  it('such as a tier without a model stops no tenant', () => {
    const tiers = [
      { code: 'broken', model_id: null },
      { code: 'gold', model_id: 'vendor/gold', temperature: '0.5' },
    ];
    expect(parse({ tiers }).tiers).toMatchObject([{ code: 'gold', modelId: 'vendor/gold', temperature: 0.5 }]);
  });

  it('such as a price without a model is left out', () => {
    const prices = [
      { model_id: null, input_cost_per_1m: '1', output_cost_per_1m: '2' },
      { model_id: 'a/b', input_cost_per_1m: '0.15', output_cost_per_1m: 0.6 },
    ];
    expect(parse({ prices }).prices).toEqual([{ modelId: 'a/b', inputPer1M: '0.15', outputPer1M: '0.6' }]);
  });

  it.each(['NaN', '-1', 'Infinity', ''])('such as a price with %j for its cache is left out as a whole', (wrong) => {
    const price = { model_id: 'a/b', input_cost_per_1m: '1', output_cost_per_1m: '2', cached_input_cost_per_1m: wrong };
    expect(parse({ prices: [price] }).prices).toEqual([]);
  });
});

it('takes a tier for free only when its row says so', () => {
  const tiers = [true, false, null, 'true'].map((is_free, n) => ({ code: `tier-${n}`, model_id: 'a/b', is_free }));
  expect(parse({ tiers }).tiers.map(({ isFree }) => isFree)).toEqual([true, false, false, false]);
});

import type { ToolContext } from '../../../runtime';
import type { ParsedInput, Tool } from '../../../runtime/contracts/tools/tool';
import { combinePermissions } from '../../../runtime/permissions/combine-permissions';
import { fixArguments } from '../../../runtime/permissions/fixed-arguments';
import { guardTool } from '../../../runtime/permissions/guard-tool';
import { readPermission, readToolRules, tenantLevels } from '../../../runtime/permissions/read-tool-rules';
import { compileInputSchema } from '../../../runtime/tools/schemas/validate-input';
import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import { containing } from '../../support/setup/matchers';
import { A_RUN } from '../../support/values/a-run';
import { aTool } from '../../support/values/loop-script';
import { fc } from '../../support/values/properties';

const SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    limit: { type: 'integer' },
    phone: {},
    filter: { type: 'object', properties: { size: { type: 'number' } } },
  },
};

function guarded(permission: object, schema: JsonObject = SCHEMA, execute = aTool('find').execute) {
  const tool = {
    definition: { name: 'find', description: 'Finds', inputSchema: schema },
    parseInput: compileInputSchema(schema),
    execute,
  };
  return atOnce(guardTool(tool, readPermission(permission, 'test')));
}

/** All schemas here are small enough to be checked at once. */
function atOnce(tool: Tool) {
  return { ...tool, parseInput: (input: JsonObject) => tool.parseInput(input) as ParsedInput };
}

const context = (): ToolContext => ({
  toolCallId: 'call',
  run: A_RUN,
  meta: { tenant_id: 'tenant', task_id: 'task' },
  signal: new AbortController().signal,
  variables: new Map(),
});

describe('a numeric limit', () => {
  const tool = guarded({ limits: { limit: { min: 1, max: 10 }, 'filter.size': { max: 5 } } });
  const parsed = (input: JsonObject) => tool.parseInput(input);

  it.each([
    [{ limit: 50 }, { limit: 10 }],
    [{ limit: 5 }, { limit: 5 }],
    [{ limit: -3 }, { limit: 1 }],
    [{}, { limit: 10 }],
    [
      { limit: 1, filter: { size: 1e9 } },
      { limit: 1, filter: { size: 5 } },
    ],
    [
      { limit: 1, filter: {} },
      { limit: 1, filter: { size: 5 } },
    ],
  ])('turns %j into %j', (input, value) => expect(parsed(input as JsonObject)).toEqual({ ok: true, value }));

  it('leaves the arguments that the model wrote as they were', () => {
    const input = { limit: 50 };
    parsed(input);
    expect(input).toEqual({ limit: 50 });
  });

  it.each([['"1e9"'], ['[1]'], ['{"valueOf": 1}'], ['true'], ['"١٠"']])('is not got around with %s', (text) => {
    const loose = guarded({ limits: { limit: { max: 10 } } }, { type: 'object', properties: { limit: {} } });
    expect(loose.parseInput({ limit: JSON.parse(text) as JsonValue })).toMatchObject({
      ok: false,
      code: 'TOOL_PERMISSION_DENIED',
    });
  });

  it('is not got around with another spelling of the name, or an argument that nobody declared', () => {
    expect(parsed({ Limit: 1000 })).toMatchObject({ ok: false, issues: containing('"Limit"') });
  });

  it('never writes -0', () => {
    const zero = guarded({ limits: { limit: { min: 0, max: 10 } } });
    const parsed = zero.parseInput({ limit: -0 });
    expect(parsed.ok && Object.is(parsed.value.limit, 0)).toBe(true);
  });

  it('that leaves no number refuses every call', () => {
    const levels = [{ limits: { limit: { min: 5 } } }, { limits: { limit: { max: 3 } } }];
    const permission = combinePermissions(levels.map((level) => readPermission(level, 'test')));
    const tool = guardTool(guarded({}), permission);
    expect(tool.parseInput({ limit: 4 })).toMatchObject({ ok: false, code: 'TOOL_PERMISSION_DENIED' });
  });

  it('holds whatever number comes, and only moves numbers that are outside (property)', () => {
    const bound = fc.integer({ min: -1000, max: 1000 });
    fc.assert(
      fc.property(fc.tuple(bound, bound), fc.option(fc.double({ noNaN: true })), ([a, b], value) => {
        const [min, max] = [Math.min(a, b), Math.max(a, b)];
        const free = guarded({ limits: { limit: { min, max } } }, { type: 'object', properties: { limit: {} } });
        const result = free.parseInput(value === null ? {} : { limit: value });
        if (value !== null && !Number.isFinite(value)) return !result.ok;
        const limit = Number(result.ok ? result.value.limit : undefined);
        const isInside = value !== null && value >= min && value <= max;
        return limit >= min && limit <= max && (!isInside || limit === value);
      }),
    );
  });
});

describe('allowed patterns', () => {
  const tool = guarded({ allowed_phone_patterns: ['+55*'], allowed_patterns: { query: ['/[a-z ]+/', 'ORDER-??'] } });

  it.each([
    [{ phone: '+5511999' }, true],
    [{ phone: '+7999' }, false],
    [{ phone: ['+5511', '+7999'] }, false],
    [{ phone: ['+5511', '+5512'] }, true],
    [{ phone: { number: '+5511' } }, false],
    [{ phone: '+7999\n+5511' }, false],
    [{ query: 'two words' }, true],
    [{ query: 'Two words' }, false],
    [{ query: 'ORDER-17' }, true],
    [{ query: 'ORDER-171' }, false],
    [{}, true],
  ])('on %j say %s', (input, isAllowed) => expect(tool.parseInput(input as JsonObject).ok).toBe(isAllowed));

  it('of two levels must both be met', () => {
    const levels = [{ allowed_patterns: { query: ['a*'] } }, { allowed_patterns: { query: ['*z'] } }];
    const permission = combinePermissions(levels.map((level) => readPermission(level, 'test')));
    const both = atOnce(guardTool(guarded({}), permission));
    expect([both.parseInput({ query: 'az' }).ok, both.parseInput({ query: 'ab' }).ok]).toEqual([true, false]);
  });

  it('take a number for its digits', () => {
    expect(guarded({ allowed_patterns: { limit: ['1?'] } }).parseInput({ limit: 17 }).ok).toBe(true);
  });
});

describe('fixed arguments', () => {
  const schema = { ...SCHEMA, required: ['query', 'phone'], additionalProperties: false };

  it('are neither seen nor set by the model, and satisfy the schema', async () => {
    const got: JsonObject[] = [];
    const tool = guarded({ fixed_arguments: { phone: 'ours' } }, schema, (input) => {
      got.push(input);
      return Promise.resolve({ isError: false, value: null });
    });
    expect(JSON.stringify(tool.definition)).not.toContain('phone');
    const parsed = tool.parseInput({ query: 'x', phone: 'theirs' });
    expect(parsed).toEqual({ ok: true, value: { query: 'x' } });
    await tool.execute({ query: 'x', phone: 'theirs' }, context());
    expect(got).toEqual([{ query: 'x', phone: 'ours' }]);
  });

  describe('with a path', () => {
    const NESTED = {
      type: 'object',
      properties: {
        query: { type: 'string' },
        filter: {
          type: 'object',
          properties: { client_id: { type: 'integer' }, city: { type: 'string' } },
          required: ['client_id'],
        },
      },
      required: ['filter'],
    };
    const run = async (permission: object, schema: JsonObject, input: JsonObject) => {
      const got: JsonObject[] = [];
      const tool = guarded(permission, schema, (sent) => {
        got.push(sent);
        return Promise.resolve({ isError: false, value: null });
      });
      const parsed = tool.parseInput(input);
      if (parsed.ok) await tool.execute(parsed.value, context());
      return { parsed, sent: got[0], shown: tool.definition.inputSchema };
    };
    const FIXED = { fixed_arguments: { 'filter.client_id': 7 } };

    it.each([
      [
        { filter: { client_id: 9, city: 'Rio' } },
        { filter: { city: 'Rio' } },
        { filter: { city: 'Rio', client_id: 7 } },
      ],
      [{ filter: { city: 'Rio' } }, { filter: { city: 'Rio' } }, { filter: { city: 'Rio', client_id: 7 } }],
      [{ query: 'x' }, { query: 'x' }, { query: 'x', filter: { client_id: 7 } }],
      [{ filter: null }, {}, { filter: { client_id: 7 } }],
      [{ filter: {}, 'filter.client_id': 9 }, {}, { filter: { client_id: 7 } }],
    ])('reach inside: %j', async (input, shown, sent) => {
      const call = await run(FIXED, NESTED, input);
      expect(call.parsed).toEqual({ ok: true, value: shown });
      expect(call.sent).toEqual(sent);
    });

    it('are laid into every entry of a list', async () => {
      const schema = { type: 'object', properties: { filter: { type: 'array', items: NESTED.properties.filter } } };
      const { parsed, sent, shown } = await run(FIXED, schema, { filter: [{ client_id: 9 }, { city: 'Rio' }] });
      expect(parsed).toEqual({ ok: true, value: { filter: [{}, { city: 'Rio' }] } });
      expect(sent).toEqual({ filter: [{ client_id: 7 }, { city: 'Rio', client_id: 7 }] });
      expect(JSON.stringify(shown)).not.toContain('client_id');
    });

    it.each([[{ filter: 'client_id=9' }], [{ filter: [] }], [{ filter: [{}, 'x'] }], [{ filter: true }]])(
      'refuse a call that has no place for them: %j',
      async (input) => {
        const { parsed, sent } = await run(FIXED, { type: 'object', properties: { filter: {} } }, input);
        expect(parsed).toMatchObject({
          ok: false,
          code: 'TOOL_PERMISSION_DENIED',
          issues: containing('filter.client_id'),
        });
        expect(sent).toBeUndefined();
      },
    );

    it('are no part of the schema that the model sees, and the rest stays', async () => {
      const { shown } = await run(FIXED, NESTED, {});
      expect(shown).toEqual({
        type: 'object',
        properties: {
          query: { type: 'string' },
          filter: { type: 'object', properties: { city: { type: 'string' } }, required: [] },
        },
        required: ['filter'],
      });
    });

    it.each([
      ['a reference', { $ref: '#/$defs/Filter' }],
      ['a reference to a reference', { $ref: '#/$defs/Alias' }],
      ['alternatives', { anyOf: [{ $ref: '#/$defs/Filter' }, { type: 'null' }] }],
      ['all of several', { allOf: [{ description: 'x' }, { $ref: '#/$defs/Filter' }] }],
    ])('are hidden behind %s too', async (_what, filter) => {
      const $defs = { Filter: NESTED.properties.filter, Alias: { $ref: '#/$defs/Filter' } };
      const schema = { type: 'object', properties: { filter }, $defs } as unknown as JsonObject;
      const { shown, sent } = await run(FIXED, schema, { filter: { client_id: 9 } });
      expect(JSON.stringify(shown)).not.toContain('client_id');
      expect(JSON.stringify(shown)).toContain('city');
      expect(sent).toEqual({ filter: { client_id: 7 } });
    });

    it('end where a schema refers to itself', () => {
      const node = {
        type: 'object',
        properties: { next: { $ref: '#/$defs/node' } },
        anyOf: [{ $ref: '#/$defs/node' }],
      };
      const schema = { type: 'object', properties: { filter: { $ref: '#/$defs/node' } }, $defs: { node } };
      const tool = {
        ...aTool('find'),
        definition: { name: 'find', description: '', inputSchema: schema as JsonObject },
      };
      expect(guardTool(tool, readPermission(FIXED, 'test')).definition.inputSchema).toBeDefined();
    });

    it('are an argument with the dot in its name where the schema declares one', async () => {
      const schema = { type: 'object', properties: { 'filter.client_id': { type: 'integer' }, filter: {} } };
      const { sent, shown } = await run(FIXED, schema, { 'filter.client_id': 9, filter: { client_id: 9 } });
      expect(sent).toEqual({ 'filter.client_id': 7, filter: { client_id: 9 } });
      expect(shown.properties).toEqual({ filter: {} });
    });

    it('are held to limits within', async () => {
      const permission = { ...FIXED, limits: { 'filter.client_id': { max: 5 } } };
      expect((await run(permission, NESTED, {})).sent).toEqual({ filter: { client_id: 5 } });
    });

    it.each([['__proto__.x'], ['a.constructor.prototype.x'], ['a.__proto__']])(
      'that leads to a prototype are refused: %s',
      (path) => {
        expect(() => readPermission({ fixed_arguments: { [path]: 1 } }, 'test')).toThrow(
          'cannot be the name of anything',
        );
      },
    );
  });

  it.each([
    [{ 'filter.client_id': 'OURS' }, { 'filter.client_id': 'x', filter: { client_id: 'THEIRS' } }],
    [{ 'filter.client_id': 'OURS' }, { filter: { client_id: 'THEIRS' } }],
    [{ filter: { client_id: 'OURS' } }, { 'filter.client_id': 'THEIRS' }],
  ])('of an earlier level are not got around with what a later one fixes around or within them: %j, %j', (a, b) => {
    const [first, ...rest] = [a, ...Object.entries(b).map(([name, value]) => ({ [name]: value }))];
    for (const later of [rest, [...rest].reverse()]) {
      const levels = [first, ...later].map((fixed) => readPermission({ fixed_arguments: fixed }, 'test'));
      const { fixedArguments } = combinePermissions(levels);
      expect(fixArguments(fixedArguments, {}).lay({})).toEqual({ value: { filter: { client_id: 'OURS' } } });
    }
  });

  it.each([
    [{ 'filter.client_id': 1, filter: {} }, 'fixes "filter.client_id" and "filter", one within the other'],
    [{ 'a.b': 1, 'a-b': 2, a: 3 }, 'fixes "a.b" and "a", one within the other'],
    [{ 7: 1 }, 'a fixed argument cannot have a number for its name'],
    [{ [`a${'.a'.repeat(200)}`]: 1 }, 'the name of an argument is longer than 200 characters'],
  ])('of one level that contradict each other or cannot be laid are refused: %j', (fixed_arguments, reason) => {
    expect(() => readPermission({ fixed_arguments }, 'test')).toThrow(reason);
  });

  it('of an earlier level win', () => {
    const levels = [{ fixed_arguments: { a: 1 } }, { fixed_arguments: { a: 2, b: 2 } }];
    expect(combinePermissions(levels.map((level) => readPermission(level, 'test'))).fixedArguments).toEqual({
      a: 1,
      b: 2,
    });
  });
});

describe('a cap on the time of a call', () => {
  it('ends it, also when the tool has more time of its own', async () => {
    const tool = guarded({ timeout_seconds: 0.05 }, SCHEMA, (_input, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<{ isError: true; value: string }>();
      signal.addEventListener('abort', () => resolve({ isError: true, value: 'broken off' }));
      return promise;
    });
    await expect(tool.execute({}, context())).resolves.toMatchObject({ isError: true, code: 'TOOL_TIMEOUT' });
  });

  it('leaves a quick call alone', async () => {
    await expect(guarded({ timeout_seconds: 5 }).execute({ query: 'x' }, context())).resolves.toMatchObject({
      isError: false,
    });
  });
});

describe('levels', () => {
  const decisions = ['allow', 'ask', 'deny'] as const;
  const randomLevel = fc.record(
    {
      decision: fc.constantFrom(...decisions),
      limits: fc.dictionary(fc.constantFrom('a', 'b'), fc.record({ max: fc.integer() }), { noNullPrototype: true }),
      rate_limit_per_minute: fc.nat(100),
      max_calls_per_run: fc.nat(100),
      timeout_seconds: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: [] },
  );

  it('can only narrow, in whatever order they come (property)', () => {
    fc.assert(
      fc.property(fc.array(randomLevel, { minLength: 1, maxLength: 4 }), (raw) => {
        const levels = raw.map((level) => readPermission(level, 'test'));
        const all = combinePermissions(levels);
        expect(combinePermissions([...levels].reverse())).toEqual(all);
        for (const level of levels) {
          expect(decisions.indexOf(all.decision)).toBeGreaterThanOrEqual(decisions.indexOf(level.decision));
          expect(all.callsPerMinute ?? Infinity).toBeLessThanOrEqual(level.callsPerMinute ?? Infinity);
          expect(all.callsPerRun ?? Infinity).toBeLessThanOrEqual(level.callsPerRun ?? Infinity);
          expect(all.timeoutMs ?? Infinity).toBeLessThanOrEqual(level.timeoutMs ?? Infinity);
          for (const [name, { max }] of Object.entries(level.limits)) {
            expect(all.limits[name]?.max).toBeLessThanOrEqual(Number(max));
          }
        }
      }),
    );
  });

  it.each([
    [{ enabled_tools: 'all' }, 'settings.tool_config.enabled_tools'],
    [{ disabled_tools: { a: 1 } }, 'settings.tool_config.disabled_tools'],
    [{ tool_permissions: { send: { decision: 'maybe' } } }, 'tool_permissions.send.decision'],
    [{ tool_permissions: { send: { limits: { n: { min: 2, max: 1 } } } } }, 'tool_permissions.send.limits.n'],
    [{ tool_permissions: { send: { allowed_patterns: { to: ['/(?=x)y/'] } } } }, 'tool_permissions.send'],
    [{ tool_permissions: { send: { rate_limit: 'five' } } }, 'tool_permissions.send.rate_limit'],
    [{ tool_permissions: { send: { allowed_patterns: { to: [`/${'a'.repeat(1001)}/`] } } } }, 'allowed_patterns.to'],
    ['none', 'settings.tool_config'],
    [{ agents: [] }, 'settings.tool_config.agents'],
  ])('%j is refused by name', (config, where) => {
    expect(() => tenantLevels(config, 'sales')).toThrow(where);
  });

  it("read the documents' words for three of the rules", () => {
    expect(readPermission({ max_results: 10, rate_limit: 5, allowed_phone_patterns: '+55*' }, 'test')).toMatchObject({
      limits: { max_results: { max: 10 } },
      callsPerMinute: 5,
      patterns: { phone: [['+55*']] },
    });
  });

  it.each([
    ['{"tool_permissions":{"__proto__":{"decision":"deny"}}}'],
    ['{"tool_permissions":{"constructor":{"decision":"deny"}}}'],
    ['{"tool_permissions":{"send":{"limits":{"prototype":{"max":1}}}}}'],
    ['{"tool_permissions":{"send":{"fixed_arguments":{"a":[{"constructor":{"prototype":{"polluted":1}}}]}}}}'],
    ['{"agents":{"__proto__":{"disabled_tools":["send"]}}}'],
  ])('that name what leads to a prototype are refused, and do not fall away: %s', (text) => {
    expect(() => tenantLevels(JSON.parse(text), undefined)).toThrow('cannot be the name of anything in rules');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  const ofTool = (rules: object): object => ({ tool_permissions: { pay: rules } });
  const OF_PAY = 'settings.tool_config.tool_permissions.pay';
  it.each([
    [{ disabled_tool: ['pay'] }, 'settings.tool_config', 'disabled_tool', 'disabled_tools'],
    [{ enabledTools: [] }, 'settings.tool_config', 'enabledTools', 'enabled_tools'],
    [{ tool_permission: {} }, 'settings.tool_config', 'tool_permission', 'tool_permissions'],
    [{ agent: {} }, 'settings.tool_config', 'agent', 'agents'],
    [
      { agents: { sales: { disable_tools: [] } } },
      'settings.tool_config.agents.sales',
      'disable_tools',
      'disabled_tools',
    ],
    [ofTool({ decison: 'deny' }), OF_PAY, 'decison', 'decision'],
    [ofTool({ limit: { amount: { max: 1 } } }), OF_PAY, 'limit', 'limits'],
    [ofTool({ allowed_pattern: { to: 'a' } }), OF_PAY, 'allowed_pattern', 'allowed_patterns'],
    [ofTool({ fixed_argument: { a: 1 } }), OF_PAY, 'fixed_argument', 'fixed_arguments'],
    [ofTool({ timeout_second: 1 }), OF_PAY, 'timeout_second', 'timeout_seconds'],
    [ofTool({ max_calls: 1 }), OF_PAY, 'max_calls', 'max_calls_per_run'],
  ])('with a misspelt key are refused with the right one: %j', (...[config, where, key, right]) => {
    expect(() => tenantLevels(config, 'sales')).toThrow(
      `The rules in ${where} cannot be read: it has no key "${key}" (did you mean "${right}"?)`,
    );
  });

  it('with a key that is near no other are refused with all that there are', () => {
    expect(() => tenantLevels(ofTool({ limits: { amount: { maximum: 10 } } }), undefined)).toThrow(
      `${OF_PAY}.limits.amount cannot be read: it has no key "maximum", only "min", "max"`,
    );
    expect(() => readToolRules({ agents: {} }, 'elo_agent_tiers.tool_config')).toThrow('it has no key "agents", only');
  });
});

import type * as ReadRules from '../../../runtime/permissions/read-tool-rules';
import type * as Rules from '../../../runtime/permissions/unmatched-rules';
import type { JsonObject } from '../../../runtime/util/json';

/** Counts how often the event loop is offered to others. */
let turns = 0;
jest.mock('../../../runtime/util/turn', () => ({
  turn: () => {
    turns++;
  },
}));

let rulesOf: typeof Rules & typeof ReadRules;

beforeAll(async () => {
  // Loaded after the mock is in place.
  rulesOf = {
    ...(await import('../../../runtime/permissions/read-tool-rules')),
    ...(await import('../../../runtime/permissions/unmatched-rules')),
  };
});

const PAY: JsonObject = {
  type: 'object',
  properties: {
    amount: { type: 'number' },
    phone: { type: 'string' },
    to: { type: 'object', properties: { name: {} } },
    lines: { type: 'array', items: { type: 'object', properties: { price: {} } } },
    open: { anyOf: [{ type: 'object' }] },
  },
};
const TOOLS = [{ names: ['pay'], schema: PAY }, { names: ['find_orders', 'shop.find_orders'] }];
const isElsewhere = (name: string) => name.startsWith('silent.');

const ofTenant = async (rules: object, tools: readonly Rules.RuledTool[] = TOOLS) =>
  (await rulesOf.unmatchedRules(rulesOf.tenantLevels(rules, undefined), tools, isElsewhere)).map(
    ({ rule, reason }) => `${rule}: ${reason}`,
  );
const ofTask = async (rules: object) =>
  (await rulesOf.unmatchedRules([rulesOf.readToolRules(rules, 'config')], TOOLS, isElsewhere)).map(
    ({ reason }) => reason,
  );
const ofArguments = (rules: object, schema: JsonObject = PAY) =>
  rulesOf
    .unmatchedArguments(rulesOf.readPermission(rules, 'x'), { rule: 'x', name: 'pay', schemas: [schema] })
    .map(({ rule }) => rule);

it.each([
  [
    { tool_permissions: { Pay: { decision: 'ask' } } },
    'tool_permissions.Pay: there is no tool "Pay" (did you mean "pay"?)',
  ],
  [{ disabled_tools: ['payy'] }, 'disabled_tools: there is no tool "payy" (did you mean "pay"?)'],
  [{ disabled_tools: ['refund'] }, 'disabled_tools: there is no tool "refund"'],
  [{ enabled_tools: ['find_order'] }, 'enabled_tools: there is no tool "find_order" (did you mean "find_orders"?)'],
  [
    { tool_permissions: { pay: { limits: { amout: { max: 5 } } } } },
    'tool_permissions.pay.limits.amout: tool "pay" declares no argument "amout" (did you mean "amount"?)',
  ],
  [
    { tool_permissions: { pay: { allowed_patterns: { phnoe: ['+49*'] } } } },
    'tool_permissions.pay.allowed_patterns.phnoe: tool "pay" declares no argument "phnoe" (did you mean "phone"?)',
  ],
])('reports a rule of a tenant that matches nothing: %j', async (rules, told) => {
  expect(await ofTenant(rules)).toEqual([`settings.tool_config.${told}`]);
});

it('reports no rule that matches, may match, or names an unlisted tool', async () => {
  const permissions = {
    pay: { limits: { amount: { max: 5 } } },
    'shop.find_orders': {},
    'calc*': {},
    'silent.pay': {},
  };
  expect(await ofTenant({ tool_permissions: permissions, disabled_tools: ['*_admin', 'find_orders'] })).toEqual([]);
});

it('reports a rule of a task, which serves many tenants, only if a tool has nearly its name', async () => {
  expect(await ofTask({ disabled_tools: ['payy', 'refund'] })).toEqual([
    'there is no tool "payy" (did you mean "pay"?)',
  ]);
});

it.each([
  [{ limits: { 'to.nam': { max: 1 } } }, ['x.limits.to.nam']],
  [{ limits: { 'to.name': { max: 1 }, 'lines.price': { max: 1 }, 'open.any': { max: 1 } } }, []],
  [{ limits: { 'lines.prize': { max: 1 } } }, ['x.limits.lines.prize']],
  // What a server takes beside what it declares may be fixed.
  [{ fixed_arguments: { client_id: 7, amout: 1 } }, ['x.fixed_arguments.amout']],
  [{ max_results: 5 }, ['x.limits.max_results']],
  [{ limits: { 'amount.value': { max: 1 } } }, ['x.limits.amount.value']],
])('reports the undeclared arguments of %j as %j', (rules, told) => {
  expect(ofArguments(rules)).toEqual(told);
});

it.each([
  ['no arguments', { type: 'object', properties: {} }],
  ['more than it declares', { ...PAY, additionalProperties: true }],
  ['what a reference leads to', { ...PAY, allOf: [{ $ref: '#/$defs/x' }] }],
  ['names by pattern', { ...PAY, patternProperties: { '^x': {} } }],
  ['what depends on others', { ...PAY, dependencies: { phone: { properties: { amout: {} } } } }],
  ['one of several forms', { ...PAY, anyOf: [{ properties: { amout: {} } }] }],
])('reports no argument if the schema declares %s', (_what, schema) => {
  expect(ofArguments({ limits: { amout: { max: 5 } } }, schema)).toEqual([]);
});

it.each([
  ['Support', 'support'],
  ['suport', 'support'],
  ['support', undefined],
  ['billing', undefined],
  // Short names differ by two letters and mean it.
  ['us', undefined],
])('agent %s is near to the rules of %s', (agent, near) => {
  const found = rulesOf.rulesOfNearAgent({ agents: { support: {}, eu: {} } }, agent);
  expect(found?.rule).toBe(near && `settings.tool_config.agents.${near}`);
});

it('reports an argument if anyOf only lists required ones', () => {
  const schema = { ...PAY, anyOf: [{ required: ['amount'] }, { required: ['phone'] }] };
  expect(ofArguments({ limits: { amout: { max: 5 } } }, schema)).toEqual(['x.limits.amout']);
});

it('accepts a nested argument whose name contains a dot', () => {
  const schema: JsonObject = { type: 'object', properties: { x: { type: 'object', properties: { 'a.b': {} } } } };
  expect(ofArguments({ limits: { 'x.a.b': { max: 5 } } }, schema)).toEqual([]);
});

it('reports a rule with a star if none of its tools declares the argument', async () => {
  const tools = [
    { names: ['shop.pay'], schema: PAY },
    { names: ['shop.send'], schema: { type: 'object', properties: { text: {} } } },
  ];
  const rules = (name: string, argument: string) => ({
    tool_permissions: { [name]: { limits: { [argument]: { max: 5 } } } },
  });
  expect(await ofTenant(rules('shop.*', 'amout'), tools)).toHaveLength(1);
  expect(await ofTenant(rules('shop.*', 'amount'), tools)).toEqual([]);
  // Meant for all tools, also those to come.
  expect(await ofTenant(rules('*', 'amout'), tools)).toEqual([]);
});

it('reports at most twelve rules and yields to the event loop between them', async () => {
  const names = Array.from({ length: 1000 }, (_, n) => `tool_with_a_long_name_${n}`);
  turns = 0;
  const tools = names.map((name) => ({ names: [name] }));
  const told = await ofTenant({ disabled_tools: names.slice(0, 500).map((name) => `${name}x`) }, tools);
  expect(told).toHaveLength(12);
  expect(turns).toBeGreaterThanOrEqual(12);
});

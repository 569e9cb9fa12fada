import {
  readPermission,
  readToolRules,
  rulesOfNearAgent,
  tenantLevels,
} from '../../../runtime/permissions/read-tool-rules';
import { unmatchedArguments, unmatchedRules } from '../../../runtime/permissions/unmatched-rules';
import type { JsonObject } from '../../../runtime/util/json';

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

const ofTenant = async (rules: object, tools: Parameters<typeof unmatchedRules>[1] = TOOLS) =>
  (await unmatchedRules(tenantLevels(rules, undefined), tools, isElsewhere)).map(
    ({ rule, reason }) => `${rule}: ${reason}`,
  );
const ofTask = async (rules: object) =>
  (await unmatchedRules([readToolRules(rules, 'config')], TOOLS, isElsewhere)).map(({ reason }) => reason);
const ofArguments = (rules: object, schema: JsonObject = PAY) =>
  unmatchedArguments(readPermission(rules, 'x'), { rule: 'x', name: 'pay', tool: { names: [], schema } }).map(
    ({ rule }) => rule,
  );

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
])('of a tenant is told: %j', async (rules, told) => {
  expect(await ofTenant(rules)).toEqual([`settings.tool_config.${told}`]);
});

it('is not what matches, may match, or stands for tools that are not known', async () => {
  const permissions = {
    pay: { limits: { amount: { max: 5 } } },
    'shop.find_orders': {},
    'calc*': {},
    'silent.pay': {},
  };
  expect(await ofTenant({ tool_permissions: permissions, disabled_tools: ['*_admin', 'find_orders'] })).toEqual([]);
});

it('of a task, which serves many tenants, is told where it is nearly the name of a tool', async () => {
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
])('of arguments: %j tells %j', (rules, told) => {
  expect(ofArguments(rules)).toEqual(told);
});

it.each([
  ['no arguments', { type: 'object', properties: {} }],
  ['more than it declares', { ...PAY, additionalProperties: true }],
  ['what a reference leads to', { ...PAY, allOf: [{ $ref: '#/$defs/x' }] }],
  ['names by pattern', { ...PAY, patternProperties: { '^x': {} } }],
  ['what depends on others', { ...PAY, dependencies: { phone: { properties: { amout: {} } } } }],
  ['one of several forms', { ...PAY, anyOf: [{ properties: { amout: {} } }] }],
])('of arguments is nothing where a schema declares %s', (_what, schema) => {
  expect(ofArguments({ limits: { amout: { max: 5 } } }, schema)).toEqual([]);
});

it.each([
  ['Support', 'support'],
  ['suport', 'support'],
  ['support', undefined],
  ['billing', undefined],
  // Short names differ by two letters and mean it.
  ['us', undefined],
])('an agent %s finds the rules of %s', (agent, near) => {
  const found = rulesOfNearAgent({ agents: { support: {}, eu: {} } }, agent);
  expect(found?.rule).toBe(near && `settings.tool_config.agents.${near}`);
});

it('of arguments is told where the forms say only which ones there must be', () => {
  const schema = { ...PAY, anyOf: [{ required: ['amount'] }, { required: ['phone'] }] };
  expect(ofArguments({ limits: { amout: { max: 5 } } }, schema)).toEqual(['x.limits.amout']);
});

it('of arguments is none that stands within an argument, under a name with a dot', () => {
  const schema: JsonObject = { type: 'object', properties: { x: { type: 'object', properties: { 'a.b': {} } } } };
  expect(ofArguments({ limits: { 'x.a.b': { max: 5 } } }, schema)).toEqual([]);
});

it('with a star is told for an argument that none of the tools declares', async () => {
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

it('is told up to twelve times, however many there are, and lets others have their turn', async () => {
  const names = Array.from({ length: 1000 }, (_, n) => `tool_with_a_long_name_${n}`);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const tools = names.map((name) => ({ names: [name] }));
  const told = await ofTenant({ disabled_tools: names.slice(0, 500).map((name) => `${name}x`) }, tools);
  clearInterval(timer);
  expect(told).toHaveLength(12);
  expect(turns).toBeGreaterThan(1);
});

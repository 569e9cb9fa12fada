import { allowedTools } from '../../../runtime/permissions/allowed-tools';
import { readToolRules } from '../../../runtime/permissions/read-tool-rules';
import { containing } from '../../support/setup/matchers';
import { aTool } from '../../support/values/loop-script';

const candidates = [
  { tool: aTool('everyone') },
  { tool: aTool('paid'), allowedTiers: ['pro', 'expert'] },
  { tool: aTool('nobody'), allowedTiers: [] },
];
const namesFor = (tier: string, allowList?: string[]) => {
  const { tools, warnings } = allowedTools(candidates, {
    tier,
    levels: [{ where: 'x', isOwn: false, enabled: allowList, disabled: [], permissions: [], granted: [] }],
    asked: allowList,
  });
  return { names: tools.map(({ tool }) => tool.definition.name), warned: warnings.map((warning) => warning.message) };
};

it('lets a tier use the tools without tiers and its own', () => {
  expect(namesFor('pro').names).toEqual(['everyone', 'paid']);
  expect(namesFor('nano').names).toEqual(['everyone']);
});

it('lets nobody use a tool whose list of tiers is empty', () => {
  expect(namesFor('expert').names).not.toContain('nobody');
});

it('keeps to the allow-list without changing the order', () => {
  expect(namesFor('pro', ['paid', 'everyone']).names).toEqual(['everyone', 'paid']);
  expect(namesFor('pro', ['paid']).names).toEqual(['paid']);
});

it('takes an empty allow-list for none', () => {
  expect(namesFor('pro', [])).toEqual({ names: [], warned: [] });
});

it('cannot be made to allow what the tier forbids', () => {
  const { names, warned } = namesFor('nano', ['paid', 'everyone']);
  expect(names).toEqual(['everyone']);
  expect(warned).toEqual([containing('Tool "paid" is in the allow-list')]);
});

it('warns of names that are not there, cased differently or not', () => {
  expect(namesFor('pro', ['Everyone', 'ghost']).warned).toHaveLength(2);
});

describe('rules that would hold up the process', () => {
  const permission = (rules: object) => ({ tool_permissions: { t: rules } });
  const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, {}]));
  const patterns = Array.from({ length: 101 }, (_, n) => `/a${n}/`);

  it.each([
    ['many patterns', permission({ allowed_patterns: { a: patterns } }), 'more than 100 patterns'],
    ['a large pattern', permission({ allowed_patterns: { a: ['/(a{100}){100}/'] } }), 'it is too large'],
    ['a large pattern of flags', permission({ allowed_patterns: { a: ['/(?:abab)(?i){1000}/'] } }), 'it is too large'],
    ['many names', { disabled_tools: Array.from({ length: 501 }, (_, n) => `t${n}*`) }, 'more than 500 entries'],
    ['many tools', { tool_permissions: numbered(501) }, 'more than 500 entries'],
    ['many limits', permission({ limits: numbered(501) }), 'more than 500 entries'],
    ['many unknown keys', permission(numbered(400)), 'and 388 more'],
  ])('are refused: %s', (_what, rules, reason) => {
    expect(() => readToolRules(rules, 'config')).toThrow(reason);
  });

  it.each([
    ['a*', 'abc', true],
    ['*c', 'abc', true],
    ['a*b*c', 'axbxc', true],
    ['a*a', 'a', false],
    ['*b*', 'abc', true],
    ['a*bc*c', 'abc', false],
    ['a.*', 'abc', false],
  ])('are matched without an expression: %s on %s', (glob, name, isDenied) => {
    const levels = [readToolRules({ disabled_tools: [glob] }, 'config')];
    expect(allowedTools([{ tool: aTool(name) }], { levels }).tools).toHaveLength(isDenied ? 0 : 1);
  });
});

import { allowedTools } from '../../../runtime/permissions/allowed-tools';
import { aTool } from '../../support/loop-script';
import { containing } from '../../support/matchers';

const candidates = [
  { tool: aTool('everyone') },
  { tool: aTool('paid'), allowedTiers: ['pro', 'expert'] },
  { tool: aTool('nobody'), allowedTiers: [] },
];
const namesFor = (tier: string, allowList?: string[]) => {
  const { tools, warnings } = allowedTools(candidates, {
    tier,
    levels: [{ enabled: allowList, disabled: [], permissions: [] }],
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

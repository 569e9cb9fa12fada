import { offeredNames } from '../../../runtime/tools/offered-names';
import { fc } from '../../support/values/properties';

const wanted = ([server, tool]: [string, string]) => ({ name: `${server}_${tool}`, identity: [server, tool] });
const named = (tools: [string, string][], taken: string[] = []): readonly string[] =>
  offeredNames(tools.map(wanted), new Set(taken));

it('puts the server before the tool, and an underscore for what providers refuse', () => {
  expect(
    named([
      ['shop', 'search'],
      ['web', 'page.read'],
      ['web', 'größe'],
    ]),
  ).toEqual(['shop_search', 'web_page_read', 'web_gr__e']);
});

it('keeps two tools apart that would have the same name, whatever stands beside them', () => {
  const [dotted, underlined] = named([
    ['web', 'page.read'],
    ['web', 'page_read'],
  ]);
  expect(dotted).not.toBe(underlined);
  expect(
    named([
      ['web', 'page_read'],
      ['web', 'other'],
      ['web', 'page.read'],
    ]),
  ).toEqual([underlined, 'web_other', dotted]);
});

it('leaves a name to the tool that has it already', () => {
  expect(named([['shop', 'search']], ['shop_search'])).toEqual([expect.stringMatching(/^shop_search_[0-9a-f]{8}$/)]);
});

it('gives every tool a name of its own that providers accept', () => {
  const tool = fc.tuple(
    fc.stringMatching(/^[a-zA-Z0-9_-]{1,50}$/),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
  );
  const distinct = fc.uniqueArray(tool, { selector: (names) => JSON.stringify(names) });
  fc.assert(
    fc.property(distinct, (tools) => {
      const names = named(tools);
      expect(new Set(names).size).toBe(tools.length);
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    }),
  );
});

import { legacyTest } from '../../../runtime/workflow-migration/routers/conditions-legacy';

// What n8n itself does with such routers is compared in test/long/migration-routers.test.ts.
describe('a comparison of IF 1, as n8n fills it in', () => {
  it.each([
    ['boolean', undefined, 'false'],
    ['boolean', null, 'null'],
    ['number', undefined, '0'],
    ['number', null, 'null'],
    ['string', undefined, "''"],
    ['string', null, "''"],
  ] as const)('of the type %s with the second value %s', (type, value2, filledIn) => {
    const row = { operation: 'equal', ...(value2 === undefined ? {} : { value2 }) };
    expect(legacyTest(type, 'a', row)).toEqual({ kind: 'js', js: `'a' === ${filledIn}` });
  });

  it('is not carried without an operation that n8n would take', () => {
    expect(legacyTest('string', 'a', { operation: null, value2: 'a' })).toMatchObject({ kind: 'unknown' });
  });
});

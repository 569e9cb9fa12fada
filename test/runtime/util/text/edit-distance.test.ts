import { editDistance } from '../../../../runtime/util/text/edit-distance';
import { fc } from '../../../support/values/properties';

it.each([
  ['', '', 0],
  ['pay', 'pay', 0],
  ['pay', 'apy', 1],
  ['amout', 'amount', 1],
  ['fone', 'phone', 2],
  ['ca', 'abc', 3],
])('from %j to %j it is %i', (from, to, distance) => {
  expect(editDistance(from, to)).toBe(distance);
});

it('is the same with a bound that it keeps to, and above the bound with one that it does not', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, fc.nat(8), (from, to, most) => {
      const exact = editDistance(from, to);
      const bounded = editDistance(from, to, most);
      if (exact <= most) expect(bounded).toBe(exact);
      else expect(bounded).toBeGreaterThan(most);
    }),
  );
});

import { callCost, findPrice, roundCost, sumDecimals } from '../../../runtime/billing/cost';
import { fc } from '../../support/values/properties';
import { usageOf } from '../../support/values/usage-of';

const price = (inputPer1M: string, outputPer1M: string, modelId = 'a/model') => ({ modelId, inputPer1M, outputPer1M });

it("costs the documents' example exactly", () => {
  expect(callCost(usageOf(1250, 340), price('0.15', '0.60'))).toBe('0.0003915');
  expect(roundCost('0.0003915')).toBe('0.00039150');
});

it('keeps every digit of a call that is worth less than the ledger shows', () => {
  expect(callCost(usageOf(1, 0), price('0.000001', '0'))).toBe('0.000000000001');
});

it.each([
  ['0.000000005', '0.00000001'],
  ['0.0000000049999999', '0.00000000'],
  ['0.000000015', '0.00000002'],
  ['0', '0.00000000'],
  ['12345678.123456785', '12345678.12345679'],
])('rounds %s half up to %s', (exact, shown) => {
  expect(roundCost(exact)).toBe(shown);
});

it('rounds the sum once, where rounding each call would give another figure', () => {
  // Three calls of 0.4 of the smallest shown unit: each alone rounds to nothing, together they are one.
  const call = callCost(usageOf(4, 0), price('0.001', '0'));
  expect(call).toBe('0.000000004');
  expect(roundCost(call)).toBe('0.00000000');
  expect(roundCost(sumDecimals([call, call, call]))).toBe('0.00000001');
});

it('adds what floating point gets wrong', () => {
  expect(sumDecimals(['0.1', '0.2'])).toBe('0.3');
  expect(sumDecimals([])).toBe('0');
});

it('takes the price of the model that was asked, then of the one that answered', () => {
  const prices = [price('1', '1', 'a/asked'), price('2', '2', 'a/answered')];
  expect(findPrice(prices, ['a/asked', 'a/answered'])?.modelId).toBe('a/asked');
  expect(findPrice(prices, ['a/unknown', 'a/answered'])?.modelId).toBe('a/answered');
  expect(findPrice(prices, ['a/unknown', undefined])).toBeUndefined();
});

it('equals whole-number arithmetic for any tokens and prices', () => {
  const micros = fc.bigInt({ min: 0n, max: 1_000_000_000n });
  const count = fc.nat(1_000_000_000);
  fc.assert(
    fc.property(fc.array(fc.tuple(count, count, micros, micros), { maxLength: 20 }), (calls) => {
      // A price of n millionths of a dollar for a million tokens is n units of 1e-12 dollars for a token.
      const exact = calls.reduce((sum, [input, output, a, b]) => sum + BigInt(input) * a + BigInt(output) * b, 0n);
      const costs = calls.map(([input, output, a, b]) =>
        callCost(usageOf(input, output), price(decimal(a, 6), decimal(b, 6))),
      );
      expect(roundCost(sumDecimals(costs))).toBe(decimal((exact + 5_000n) / 10_000n, 8));
    }),
  );
});

/** `units` of the last of `places` decimal places, as decimal text. */
function decimal(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

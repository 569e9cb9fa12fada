import { markIntegers, restoreIntegers } from '../../../runtime/mcp/sdk/long-integers';
import { ExactInteger, mapExactIntegers, parseExactly } from '../../../runtime/util/exact-integer';
import { canonicalJson, isJsonObject, tryParseJson } from '../../../runtime/util/json';
import { fc } from '../../support/values/properties';

const LONG = '2512292042121000001';

it('writes its digits, and compares as a number', () => {
  const integer = new ExactInteger(LONG);
  expect([JSON.stringify({ a: [integer] }), String(integer), canonicalJson({ b: integer })]).toEqual([
    `{"a":[${LONG}]}`,
    LONG,
    `{"b":${LONG}}`,
  ]);
  expect(Number(integer)).toBe(Number(LONG));
  expect((integer as unknown as number) > 5).toBe(true);
  expect(isJsonObject(integer)).toBe(false);
});

it('is made of integers that a number cannot hold, and of nothing else', () => {
  const text = `[${LONG}, -${LONG}, 9007199254740991, 9007199254740992, 1e21, 1.5, "${LONG}", ${LONG}.5, 12345]`;
  const kinds = (parseExactly(text) as unknown[]).map((value) =>
    value instanceof ExactInteger ? 'exact' : typeof value,
  );
  expect(kinds).toEqual(['exact', 'exact', 'number', 'exact', 'number', 'number', 'string', 'number', 'number']);
});

it.each([
  [`${LONG}.0`, LONG],
  [`-${LONG}.000`, `-${LONG}`],
  ['1.099511627776123401E18', '1099511627776123401'],
  ['10995116277761234010e-1', '1099511627776123401'],
  ['1E400', `1${'0'.repeat(400)}`],
  ['0.1e30', `1${'0'.repeat(29)}`],
  ['1e21', '1e+21'],
  ['7.0', '7'],
  ['1.50', '1.5'],
  [`1e-${LONG}`, '0'],
  [`1.${'0'.repeat(100_000)}1e3`, '1000'],
])('keeps what %s means, within JSON and from a server', (source, written) => {
  expect(JSON.stringify(parseExactly(`{"a":${source}}`))).toBe(`{"a":${written}}`);
  expect(JSON.stringify(restoreIntegers(JSON.parse(markIntegers(`[${source}]`)), true))).toBe(`[${written}]`);
});

it('is replaced in a copy, and a value without one stays the same object', () => {
  const value = tryParseJson(`{"a":[1,${LONG}],"b":{"c":2}}`);
  const plain = mapExactIntegers(value.ok ? value.value : null, String);
  expect(plain).toEqual({ a: [1, LONG], b: { c: 2 } });
  expect(mapExactIntegers(plain, String)).toBe(plain);
});

/** JSON text with integers of any size. */
const texts = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'null', '0.5', `"${LONG}"`, `"[${LONG}"`),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc.tuple(tie('value'), tie('value')).map(([one, other]) => `{"a":${one},"b":${other}}`),
  ),
})).value;

it('survives parsing and writing', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(JSON.stringify(parseExactly(text))).toBe(text);
      expect(JSON.stringify(restoreIntegers(JSON.parse(markIntegers(text)), true))).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

it('is a number where a message is no result of a call', () => {
  const message = restoreIntegers(
    JSON.parse(markIntegers(`{"maximum":9223372036854775807,"text":"${LONG}"}`)) as object,
    false,
  );
  expect(message).toEqual({ maximum: 9_223_372_036_854_775_807, text: LONG });
});

import {
  canonicalJson,
  findExcess,
  isDeeperThan,
  tryParseJson,
  withoutPrototypeKeys,
} from '../../../runtime/util/json';
import { containing, matching } from '../../support/setup/matchers';

it('parses, or says what is wrong', () => {
  expect(tryParseJson('{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
  expect(tryParseJson('{"a":')).toEqual({ ok: false, reason: matching(/JSON/) });
});

it('refuses JSON that nothing could write again', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  expect(tryParseJson(nested(200)).ok).toBe(true);
  expect(tryParseJson(nested(201))).toEqual({ ok: false, reason: containing('200 levels') });
  expect(tryParseJson(nested(100_000)).ok).toBe(false);
  expect(tryParseJson('{"a":'.repeat(300) + '1' + '}'.repeat(300)).ok).toBe(false);
});

it('sees a cycle as endless depth', () => {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.self = { again: cyclic };
  expect(isDeeperThan(cyclic, 200)).toBe(true);
  expect(isDeeperThan({ a: { b: 1 } }, 2)).toBe(false);
  expect(isDeeperThan({ a: { b: 1 } }, 1)).toBe(true);
});

it('writes equal values as equal text', () => {
  expect(canonicalJson({ b: { d: 1, c: [2, { f: 1, e: 2 }] }, a: null })).toBe(
    '{"a":null,"b":{"c":[2,{"e":2,"f":1}],"d":1}}',
  );
  expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

it('leaves out the keys that could reach a prototype, at every level', () => {
  const clean = withoutPrototypeKeys(
    JSON.parse('{"a":{"__proto__":{"x":1},"b":[{"constructor":1,"prototype":2,"c":3}]},"__proto__":{"y":1}}') as never,
  );
  expect(JSON.stringify(clean)).toBe('{"a":{"b":[{"c":3}]}}');
  expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
});

describe('too much', () => {
  const keys = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"key${index}":1`).join(',')}}`;

  it('is told before a text is parsed', () => {
    expect(tryParseJson(keys(19_000)).ok).toBe(true);
    expect(tryParseJson(keys(21_000))).toEqual({ ok: false, reason: 'it has more than 20000 values' });
    expect(tryParseJson(keys(21_000), Infinity).ok).toBe(true);
  });

  it('is not what stands within texts', () => {
    expect(tryParseJson(JSON.stringify({ text: '\\",{['.repeat(50_000) })).ok).toBe(true);
  });

  it.each<[string, unknown, string | undefined]>([
    ['little', { a: [1, { b: 'x' }] }, undefined],
    ['a long list', [Array.from({ length: 40_000 }, () => 0)], 'has more than 20000 values'],
    ['a long text', { a: ['x'.repeat(5_000_000)] }, 'is longer than 4194304 characters'],
    ['long keys', { ['k'.repeat(5_000_000)]: 1 }, 'is longer than 4194304 characters'],
    ['a list in a list', JSON.parse('['.repeat(300) + ']'.repeat(300)), 'is nested deeper than 200 levels'],
  ])('is found in a value: %s', (_what, value, excess) => expect(findExcess(value)).toBe(excess));
});

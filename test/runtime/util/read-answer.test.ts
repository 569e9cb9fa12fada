import { findJson } from '../../../runtime/util/text/find-json';
import { stripThinking } from '../../../runtime/util/text/strip-thinking';

it.each([
  ['{"a":1}', [{ a: 1 }]],
  [' true ', [true]],
  ['Here:\n```json\n{"a":"```"}\n```', [{ a: '```' }]],
  ['```\n[1]\n``` and {"b":2}', [[1], [1], { b: 2 }]],
  ['see [1]: {"a":{"b":"}"}} end', [[1], { a: { b: '}' } }]],
  ['{not json {"a":1}}', [{ a: 1 }]],
  ['{"a":"\\"}"} x', [{ a: '"}' }]],
  ['{"a":1', []],
  ['] } [', []],
  ['none', []],
])('%j holds %j', (text, values) => {
  expect([...findJson(text)]).toEqual(values);
});

it('a hostile answer is read in linear time and without a stack of its own', () => {
  const texts = [
    '['.repeat(200_000),
    '{"'.repeat(100_000),
    '"\\'.repeat(100_000),
    '```'.repeat(60_000),
    '<think>'.repeat(30_000),
  ];
  for (const text of texts) expect([...findJson(stripThinking(text))]).toEqual([]);
  expect([...findJson(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)]).toEqual([]);
  // A test that takes a quadratic time runs into the limit of all tests.
});

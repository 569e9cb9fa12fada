import { parseArguments } from '../../../runtime/loop/parse-arguments';
import { matching } from '../../support/setup/matchers';

it.each([
  ['an object', '{"a":1}', { a: 1 }],
  ['an object in a fence', '```json\n{"a":1}\n```', { a: 1 }],
  ['an object in a bare fence', ' ```\n{"a":1}``` ', { a: 1 }],
  ['nothing', '', {}],
  ['blanks', ' \n ', {}],
  ['null', 'null', {}],
  ['an empty list', '[]', {}],
])('reads %s', (_what, text, value) => {
  expect(parseArguments(text)).toEqual({ ok: true, value });
});

it.each([
  ['a half object', '{"a":', /not valid JSON: .*(position|end of JSON)/],
  ['prose', 'call it with a = 1', /not valid JSON/],
  ['a list', '[1]', /must be a JSON object/],
  ['a text', '"{\\"a\\":1}"', /must be a JSON object/],
  ['a number', '7', /must be a JSON object/],
  ['two objects', '{"a":1}{"b":2}', /not valid JSON/],
  [
    'something nested so deeply that nothing could write it again',
    '{"a":'.repeat(5000) + '1' + '}'.repeat(5000),
    /nested deeper than/,
  ],
])('refuses %s and says why', (_what, text, issues) => {
  expect(parseArguments(text)).toEqual({ ok: false, issues: matching(issues) });
});

it('leaves prototypes alone', () => {
  const parsed = parseArguments('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
  expect(parsed.ok).toBe(true);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

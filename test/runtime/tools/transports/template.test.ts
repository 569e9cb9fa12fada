import { fillJson, fillText, placeholdersOf } from '../../../../runtime/tools/transports/template';
import type { JsonObject, JsonValue } from '../../../../runtime/util/json';
import { fc } from '../../../support/values/properties';

it.each([
  ['{{a}}', { a: 5 }, 5],
  ['{{ a }}', { a: [1] }, [1]],
  ['{{a}}', { a: null }, null],
  ['{{a}}', {}, undefined],
  ['x{{a}}y', { a: 5 }, 'x5y'],
  ['{{a}}{{b}}', { a: 'x', b: { c: 1 } }, 'x{"c":1}'],
  ['x{{a}}', {}, undefined],
  ['x{{a}}', { a: null }, undefined],
  ['{a}', { a: 5 }, '{a}'],
  ['{{}}', {}, '{{}}'],
])('fills %j with %j', (template, input, filled) => {
  expect(fillJson(template, input)).toEqual(filled);
});

it('leaves out keys and items without an argument, deep inside too, and keeps what is fixed', () => {
  const template = { a: '{{a}}', b: { c: '{{b}}', d: 1 }, e: ['{{b}}', true, '{{a}}'], f: null };
  expect(fillJson(template, { a: 'x' })).toEqual({ a: 'x', b: { d: 1 }, e: [true, 'x'], f: null });
});

it('never reads what an argument holds as a template', () => {
  const input = { a: '{{secret}}', secret: 'CANARY' };
  expect(fillJson({ a: '{{a}}', b: 'x{{a}}' }, input)).toEqual({ a: '{{secret}}', b: 'x{{secret}}' });
});

it('takes nothing from a prototype, and makes mere data of what looks like one', () => {
  expect(fillJson('{{toString}}', {})).toBeUndefined();
  expect(fillText('x{{constructor}}', {})).toBeUndefined();
  const filled = fillJson(JSON.parse('{"__proto__":"{{a}}"}') as JsonValue, { a: 'x' });
  expect(JSON.stringify(filled)).toBe('{"__proto__":"x"}');
  expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
});

it('names its placeholders', () => {
  expect(placeholdersOf({ a: '{{x}}/{{y}}', b: ['{{z}}', 1] })).toEqual(['x', 'y', 'z']);
});

it('gives a template without placeholders back as it is, whatever the arguments', () => {
  const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('{{'));
  fc.assert(
    fc.property(json, fc.dictionary(fc.string(), fc.string()), (template, input) => {
      expect(fillJson(template as JsonValue, input)).toEqual(template);
    }),
  );
});

it('puts any argument into its place unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const input = { a: value } as JsonObject;
      expect(JSON.stringify(fillJson({ b: '{{a}}' }, input))).toBe(JSON.stringify({ b: value }));
    }),
  );
});

import type { ParsedInput } from '../../../../runtime/contracts/tools/tool';
import { compileInputSchema } from '../../../../runtime/tools/schemas/validate-input';
import type { JsonObject } from '../../../../runtime/util/json';
import { containing } from '../../../support/setup/matchers';

/** All of these are small enough to be checked at once. */
const compile = (schema: unknown) => compileInputSchema(schema as JsonObject) as (input: JsonObject) => ParsedInput;
const check = (schema: unknown, input: unknown) => compile(schema)(input as JsonObject);

it('accepts what fits and gives it back unchanged', () => {
  const input = { a: 1, extra: 'x' };
  const checked = check({ type: 'object', properties: { a: { type: 'number' } } }, input);
  expect(checked).toEqual({ ok: true, value: input });
});

it('names the fields that do not fit, at most five', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'number' }, kind: { enum: ['x', 'y'] }, list: { items: { type: 'string' } } },
    required: ['b'],
    additionalProperties: false,
  };
  const checked = check(schema, { a: 'one', kind: 'z', list: ['ok', 5], more: 1, evenMore: 2, most: 3 });
  const issues = checked.ok ? '' : checked.issues;
  expect(issues.split('; ')).toHaveLength(5);
  expect(issues).toContain("arguments must have required property 'b'");
  expect(check(schema, { b: 1, kind: 'z' })).toMatchObject({
    issues: containing('kind must be equal to one of the allowed values (["x","y"])'),
  });
});

it('converts nothing and fills nothing in', () => {
  const schema = { type: 'object', properties: { a: { type: 'number' }, b: { default: 5 } } };
  expect(check(schema, { a: '1' }).ok).toBe(false);
  expect(check(schema, {})).toEqual({ ok: true, value: {} });
});

it('follows $defs and references to itself', () => {
  const schema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: { node: { type: 'object', properties: { child: { $ref: '#/$defs/node' }, n: { type: 'number' } } } },
  };
  expect(check(schema, { tree: { child: { n: 1 } } }).ok).toBe(true);
  expect(check(schema, { tree: { child: { n: 'x' } } })).toMatchObject({
    issues: containing('tree.child.n must be number'),
  });
});

it.each([['http://json-schema.org/draft-07/schema#'], ['https://json-schema.org/draft/2019-09/schema'], ['urn:own']])(
  'reads $schema %s as its own dialect',
  ($schema) => {
    const schema = {
      $schema,
      type: 'object',
      definitions: { n: { type: 'number' } },
      properties: { a: { $ref: '#/definitions/n' } },
    };
    expect(check(schema, { a: 1 }).ok).toBe(true);
    expect(check(schema, { a: 'x' }).ok).toBe(false);
  },
);

it('does not know a schema by its $id: two tools may have the same', () => {
  const withId = (type: string) => ({ $id: 'https://example.com/args', type: 'object', properties: { a: { type } } });
  expect(check(withId('number'), { a: 1 }).ok).toBe(true);
  expect(check(withId('string'), { a: 1 }).ok).toBe(false);
});

it.each([
  ['an unknown type', { type: 'object', properties: { a: { type: 'numbr' } } }],
  ['a remote reference', { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } }],
  ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
  ['a pattern that is none', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
  ['required that is no list', { type: 'object', required: 'a' }],
])('refuses %s', (_what, schema) => {
  expect(() => compileInputSchema(schema as JsonObject)).toThrow();
});

it('is not made to pass everything by $async', () => {
  expect(check({ $async: true, type: 'object', required: ['a'] }, {})).toMatchObject({ ok: false });
});

it('keeps formats and unknown keywords as hints', () => {
  const schema = { type: 'object', properties: { at: { type: 'string', format: 'date-time', 'x-hint': 1 } } };
  expect(check(schema, { at: 'tomorrow' }).ok).toBe(true);
});

it('checks each call by itself', () => {
  const validate = compile({ type: 'object', required: ['a'] });
  const first = validate({});
  expect(validate({ a: 1 }).ok).toBe(true);
  expect(first.ok).toBe(false);
});

import { compileInputSchema } from '../../../runtime/tools/validate-input';
import type { JsonObject } from '../../../runtime/util/json';

/** `a0` refers twice to `a1`, that twice to `a2`, and so on. */
function fanOut(levels: number): JsonObject {
  const definitions: Record<string, JsonObject> = { [`a${levels}`]: { type: 'object' } };
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/a${level + 1}` };
    definitions[`a${level}`] = { allOf: [next, next] };
  }
  return { type: 'object', $ref: '#/$defs/a0', $defs: definitions };
}

it('refuses a schema whose references multiply beyond all bounds', () => {
  expect(() => compileInputSchema(fanOut(30))).toThrow('its references multiply beyond all bounds');
});

it('takes one whose references multiply a little', () => {
  expect(compileInputSchema(fanOut(5))({})).toEqual({ ok: true, value: {} });
});

const LOOPS: [string, JsonObject][] = [
  ['by references alone', { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }],
  ['through a choice', { a: { anyOf: [{ $ref: '#/$defs/a' }] } }],
];

it.each(LOOPS)('refuses a schema that leads back to itself %s', (_how, $defs) => {
  expect(() => compileInputSchema({ type: 'object', $defs, $ref: '#/$defs/a' })).toThrow(
    'its schema refers to itself without end',
  );
});

it('tells the model when only some values show that', () => {
  const schema = {
    type: 'object',
    properties: { trap: { $ref: '#/$defs/a' } },
    $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } },
  };
  const parse = compileInputSchema(schema);
  expect(parse({})).toEqual({ ok: true, value: {} });
  expect(parse({ trap: 1 })).toMatchObject({ ok: false });
});

it('takes a type that holds itself, as a tree does', () => {
  const schema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/tree' } },
    $defs: {
      tree: {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
        additionalProperties: false,
      },
    },
  };
  const parse = compileInputSchema(schema);
  expect(parse({ tree: { children: [{ children: [] }] } })).toMatchObject({ ok: true });
  expect(parse({ tree: { children: [{ leaf: 1 }] } })).toMatchObject({ ok: false });
});

it('refuses a remote reference without fetching it', () => {
  expect(() => compileInputSchema({ type: 'object', $ref: 'http://127.0.0.1:9/schema.json' })).toThrow("can't resolve");
});

it('checks a pattern in linear time, however it was written', () => {
  const parse = compileInputSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
  expect(parse({ a: `${'a'.repeat(50)}!` })).toMatchObject({ ok: false });
  expect(parse({ a: 'aaa' })).toMatchObject({ ok: true });
});

it('leaves a pattern that only JavaScript knows to the server', () => {
  const parse = compileInputSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(?=x)x' } } });
  expect(parse({ a: 'y' })).toMatchObject({ ok: true });
});

import { Ajv2020 } from 'ajv/dist/2020';

import { baseSchema, type OfferedSchema } from '../../../../runtime/models/tool-schema/base-schema';
import { plainSchema } from '../../../../runtime/models/tool-schema/plain-schema';
import type { JsonObject, JsonValue } from '../../../../runtime/util/json';
import { gemini, openai, type Rules } from '../../../support/servers/refusing-providers';
import { fc } from '../../../support/values/properties';

const object = (rest: JsonObject): JsonObject => ({ type: 'object', ...rest });
const requires = (...names: readonly string[]): JsonObject => ({ required: names });

it('leaves a schema as it is that every provider takes', () => {
  const schema = object({ properties: { a: { type: 'array', items: { type: 'string' } } }, required: ['a'] });
  expect(baseSchema(schema)).toEqual({ schema, note: '' });
  expect(baseSchema(schema).schema).toBe(schema);
});

it.each<[string, JsonObject, OfferedSchema]>([
  [
    'alternatives of required arguments',
    object({ properties: { a: {}, b: {} }, anyOf: [requires('a'), requires('b')] }),
    { schema: object({ properties: { a: {}, b: {} } }), note: 'Give one of these sets of arguments: a | b.' },
  ],
  [
    'alternatives of objects',
    {
      oneOf: [
        object({ properties: { kind: { const: 'x' }, n: {} }, required: ['kind', 'n'] }),
        object({ properties: { kind: { const: 'y' } }, required: ['kind'] }),
      ],
    },
    {
      schema: object({ properties: { kind: { anyOf: [{ const: 'x' }, { const: 'y' }] }, n: {} }, required: ['kind'] }),
      note: 'Give one of these sets of arguments: kind, n | kind.',
    },
  ],
  [
    'parts that all hold',
    { allOf: [object({ properties: { a: {} }, required: ['a'] }), { properties: { b: {} }, required: ['b'] }] },
    { schema: object({ properties: { a: {}, b: {} }, required: ['a', 'b'] }), note: '' },
  ],
  [
    'a negation',
    object({ properties: {}, not: requires('b') }),
    {
      schema: object({ properties: {} }),
      note: 'The arguments must match the JSON Schema {"not":{"required":["b"]}}.',
    },
  ],
  [
    'a pointer that leads in a circle',
    { $ref: '#', description: 'd' },
    { schema: object({ description: 'd', properties: {} }), note: '' },
  ],
  ['a pointer that leads nowhere', { $ref: 'https://else.where/x' }, { schema: object({ properties: {} }), note: '' }],
])('says %s at the root in an object', (_what, schema, offered) => {
  expect(baseSchema(schema)).toEqual(offered);
});

it('tells limits that the plain form lacks in words', () => {
  const schema = object({
    properties: {
      n: { type: 'integer', description: 'How many', minimum: 1, maximum: 9 },
      level: { type: 'integer', enum: [1, 2] },
      url: { type: ['string', 'null'], format: 'uri', default: '/' },
    },
  });
  expect(plainSchema(schema).schema).toEqual(
    object({
      properties: {
        n: { type: 'integer', description: 'How many (at least 1; at most 9)' },
        level: { type: 'integer', description: '(one of [1,2])' },
        url: { type: 'string', description: '(format uri; default /)' },
      },
    }),
  );
});

it('writes definitions out, as far as they lead in no circle', () => {
  const node = object({ properties: { next: { $ref: '#/$defs/Node' } } });
  const { schema } = plainSchema(object({ properties: { node: { $ref: '#/$defs/Node' } }, $defs: { Node: node } }));
  expect(schema.properties).toEqual({ node: object({ properties: { next: { type: 'object' } } }) });
});

it('is bounded for definitions that double at each level', () => {
  const names = Array.from({ length: 40 }, (_none, no) => `D${no}`);
  const $defs = Object.fromEntries(
    names.map((name, no) => {
      const inner = { $ref: `#/$defs/D${no + 1}` };
      return [name, { ...object({ properties: { a: inner, b: inner } }), anyOf: [inner, inner] }];
    }),
  );
  const schema = { ...object({ properties: { a: { $ref: '#/$defs/D0' } }, anyOf: [{ $ref: '#/$defs/D0' }] }), $defs };
  for (const offer of [baseSchema, plainSchema]) {
    expect(JSON.stringify(offer(schema).schema).length).toBeLessThan(500_000);
  }
});

/** Schemas as servers write them, also odd ones. */
const schemas = fc.letrec<{ schema: JsonObject; leaf: JsonObject; object: JsonObject }>((tie) => ({
  leaf: fc.oneof(
    fc.constant<JsonObject>({}),
    fc.record({ type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'null') }),
    fc.constantFrom<JsonObject>(
      { type: ['string', 'null'] },
      { type: ['string', 'integer'] },
      { enum: ['a', ''] },
      { enum: ['a', 1, null] },
      { type: 'integer', enum: [1, 2], minimum: 0 },
      { const: 'a' },
      { const: 1 },
      { type: 'string', format: 'uri', pattern: '^a' },
      { type: 'array' },
      { type: 'array', items: [{ type: 'string' }, {}] } as unknown as JsonObject,
      { $ref: '#/$defs/D' },
      { $ref: '#/$defs/None' },
    ),
  ),
  object: fc.record(
    {
      type: fc.constant('object'),
      description: fc.constant('d'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }),
      required: fc.subarray(['a', 'b', 'd']),
      additionalProperties: fc.oneof(fc.constant(true), tie('leaf')),
    },
    { requiredKeys: [] },
  ),
  schema: fc.oneof(
    { depthSize: 'small' },
    tie('leaf'),
    tie('object'),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc
      .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(tie('schema'), { minLength: 1, maxLength: 3 }))
      .chain(([key, list]) => tie('object').map((own) => ({ ...own, [key]: list }))),
  ),
}));

const definitions = schemas.leaf.filter(({ $ref }) => $ref === undefined);
const withDefinitions = (own: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc.tuple(own, definitions).map(([schema, leaf]) => ({ type: 'object', ...schema, $defs: { D: leaf, None: {} } }));
/** Objects, and such with alternatives at the root. */
const objects = withDefinitions(schemas.object);
const alternatives = fc.array(schemas.object, { minLength: 1, maxLength: 3 });
const roots = withDefinitions(
  fc
    .tuple(schemas.object, fc.constantFrom('anyOf', 'oneOf', 'allOf'), alternatives)
    .map(([own, key, list]) => ({ ...own, [key]: list })),
);

function fault(rules: Rules, schema: JsonObject): unknown {
  const tool = { type: 'function', function: { name: 'tool', description: 'd', parameters: schema } };
  return rules({ model: 'm', messages: [], tools: [tool] })?.body;
}

it('is of the form that OpenAI takes, and in the plain form of that of Gemini, whatever the schema', () => {
  fc.assert(
    fc.property(fc.oneof(objects, roots), (schema) => {
      expect(fault(openai, baseSchema(schema).schema)).toBeUndefined();
      expect(fault(gemini, plainSchema(schema).schema)).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
});

const values = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>('a', '', 'x', 0, 1, 2, 1.5, true, null),
    fc.array(tie('value'), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 4 }),
}));

const compiled = (schema: JsonObject): ((value: unknown) => boolean) =>
  new Ajv2020({ strict: false, validateFormats: false, validateSchema: false }).compile(schema);
const arrays = fc.array(values.object, { minLength: 20, maxLength: 20 });

it('means the same without alternatives at the root', () => {
  let admitted = 0;
  fc.assert(
    fc.property(objects, arrays, (schema, given) => {
      const [own, offered] = [compiled(tupleFree(schema)), compiled(tupleFree(baseSchema(schema).schema))];
      admitted += given.filter(own).length;
      expect(given.filter(offered)).toEqual(given.filter(own));
    }),
    { numRuns: 300 },
  );
  expect(admitted).toBeGreaterThan(500);
});

it('requires nothing that the schema itself does not require', () => {
  let admitted = 0;
  fc.assert(
    fc.property(roots, arrays, (schema, given) => {
      const { required = [] } = baseSchema(schema).schema;
      for (const value of given.filter(compiled(tupleFree(schema)))) {
        admitted++;
        expect(Object.keys(value)).toEqual(expect.arrayContaining(required as string[]));
      }
    }),
    { numRuns: 300 },
  );
  expect(admitted).toBeGreaterThan(300);
});

/** The checker of draft 2020-12 knows no tuples in `items`, so all of them hold anything here. */
function tupleFree(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    if (key === 'prefixItems') return undefined;
    return key === 'items' && Array.isArray(value) ? {} : value;
  }) as JsonObject;
}

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
        url: { type: 'string', description: '(format uri; default /)', nullable: true },
      },
    }),
  );
});

it('writes definitions out, recursive ones to the second level', () => {
  const node = object({ properties: { next: { $ref: '#/$defs/Node' } } });
  const { schema } = plainSchema(object({ properties: { node: { $ref: '#/$defs/Node' } }, $defs: { Node: node } }));
  const inner = object({ properties: { next: object({ properties: { next: { type: 'object' } } }) } });
  expect(schema.properties).toEqual({ node: inner });
});

it('resolves references into lists', () => {
  const source = { anyOf: [{ type: 'string' }, object({ properties: { url: { type: 'string' } } })] };
  const schema = object({ properties: { source, target: { $ref: '#/properties/source/anyOf/0' } } });
  expect(plainSchema(schema).schema).toMatchObject({ properties: { target: { type: 'string' } } });
});

it('keeps references whole when it moves what they refer to', () => {
  const schema = object({
    properties: { at: { type: 'array', items: [{ enum: ['x'] }, { $ref: '#/properties/at/items/0' }] as never } },
    anyOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { $ref: '#/anyOf/0/properties/a' } } }],
  });
  expect(baseSchema(schema).schema).toMatchObject({
    properties: {
      a: { type: 'string' },
      b: { type: 'string' },
      at: { prefixItems: [{ enum: ['x'] }, { enum: ['x'] }] },
    },
  });
});

it('keeps what is required through several parts, and mixes no conditions', () => {
  const $defs: Record<string, JsonObject> = {
    Animal: object({ properties: { name: { type: 'string' } }, required: ['name'] }),
    Cat: { allOf: [{ $ref: '#/$defs/Animal' }, { properties: { lives: { type: 'integer' } } }] },
    Thing: object({ properties: { owner: { type: 'string' } }, required: ['owner'] }),
    Owned: { allOf: [{ $ref: '#/$defs/Thing' }, { properties: { since: { type: 'string' } }, required: ['since'] }] },
  };
  const item = { allOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Owned' }] };
  const { properties } = plainSchema({ ...object({ properties: { item } }), $defs }).schema as {
    properties: JsonObject;
  };
  expect(properties.item).toMatchObject({ required: ['name', 'owner', 'since'] });
  const when = (mode: string, rest: JsonObject): JsonObject => ({
    if: { properties: { mode: { const: mode } } },
    ...rest,
  });
  const rules = [when('a', { then: requires('x') }), when('b', { else: requires('y') })];
  expect(baseSchema(object({ properties: { mode: {} }, allOf: rules })).schema).not.toHaveProperty('else');
});

const definitionsOf = (definition: JsonObject, uses = 1): JsonObject => ({
  ...object({
    properties: Object.fromEntries(Array.from({ length: uses }, (_none, no) => [`p${no}`, { $ref: '#/$defs/D' }])),
  }),
  $defs: { D: definition },
});
const self = { $ref: '#/$defs/D' };

it.each<[string, JsonObject]>([
  ['definitions that double at each level', doubling(40)],
  ['an optional child', definitionsOf(object({ properties: { child: { anyOf: [self, { type: 'null' }] } } }))],
  ['a binary tree', definitionsOf({ anyOf: [{ type: 'string' }, object({ properties: { l: self, r: self } })] })],
  [
    'a filter of filters',
    definitionsOf({ oneOf: [object({ properties: { and: { type: 'array', items: self } } }), { allOf: [self] }] }),
  ],
  [
    'a long enum in a circle',
    definitionsOf(
      object({ properties: { e: { enum: ['x'.repeat(60_000)] }, c: { anyOf: [self, { type: 'string' }] } } }),
    ),
  ],
  ['a long enum, often', definitionsOf({ enum: Array.from({ length: 20 }, (_none, no) => `${no}`.repeat(2000)) }, 700)],
  [
    'many parts, often',
    definitionsOf({ allOf: Array.from({ length: 500 }, (_none, no) => ({ properties: { [`p${no}`]: {} } })) }, 40),
  ],
  [
    'many parts in a circle',
    definitionsOf({ allOf: Array.from({ length: 550 }, () => requires('a', 'b', 'c')), anyOf: [self, self] }),
  ],
  [
    'many parts at the root',
    object({ allOf: Array.from({ length: 600 }, (_none, no) => ({ properties: { [`p${no}`]: {} } })) }),
  ],
  [
    'references to a long part that moves',
    object({
      anyOf: [{ properties: { b: object({ description: 'd'.repeat(58_000) }) } }],
      properties: Object.fromEntries(
        Array.from({ length: 100 }, (_none, no) => [`m${no}`, { $ref: '#/anyOf/0/properties/b' }]),
      ),
    }),
  ],
  [
    'a long description of many alternatives',
    object({
      properties: {
        a: {
          description: 'D'.repeat(60_000),
          anyOf: Array.from({ length: 50 }, (_none, no) => ({ enum: [`e${no}`] })),
        },
      },
    }),
  ],
  ['many required names, often', definitionsAtRoot(2000)],
  [
    'a part that moves and refers to itself',
    { description: 'x'.repeat(60_000), anyOf: [{ properties: { a: { items: { $ref: '#/anyOf/0' } } } }] },
  ],
])('is bounded for %s', (_what, schema) => {
  const limit = 2.5 * JSON.stringify(schema).length + 20_000;
  for (const offer of [baseSchema, plainSchema]) {
    expect(JSON.stringify(offer(schema).schema).length).toBeLessThan(limit);
  }
  expect(fault(gemini, plainSchema(schema).schema)).toBeUndefined();
});

function definitionsAtRoot(names: number): JsonObject {
  const required = Array.from({ length: names }, (_none, no) => `n${no}`);
  return { type: 'object', anyOf: Array.from({ length: 5 }, () => self), $defs: { D: { required } } };
}

function doubling(levels: number): JsonObject {
  const level = (no: number): JsonObject => {
    const inner = { $ref: `#/$defs/D${no + 1}` };
    return { ...object({ properties: { a: inner, b: inner } }), anyOf: [inner, inner] };
  };
  const $defs = Object.fromEntries(Array.from({ length: levels }, (_none, no) => [`D${no}`, level(no)]));
  return { ...object({ properties: { a: { $ref: '#/$defs/D0' } }, anyOf: [{ $ref: '#/$defs/D0' }] }), $defs };
}

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

/** References to parts that are moved, that are circular, or that are not there. */
const pointers = fc.constantFrom(
  '#',
  '#/anyOf/0',
  '#/oneOf/0',
  '#/allOf/0',
  '#/properties/a',
  '#/properties/a/items',
  '#/x',
);

function fault(rules: Rules, schema: JsonObject): unknown {
  const tool = { type: 'function', function: { name: 'tool', description: 'd', parameters: schema } };
  return rules({ model: 'm', messages: [], tools: [tool] })?.body;
}

it('is of the form that OpenAI takes, and in the plain form of that of Gemini, whatever the schema', () => {
  fc.assert(
    fc.property(fc.oneof(objects, roots), pointers, (given, pointer) => {
      const schema = JSON.parse(JSON.stringify(given).replaceAll('#/$defs/None', pointer)) as JsonObject;
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

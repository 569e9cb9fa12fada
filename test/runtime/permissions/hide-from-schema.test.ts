import { hideFromSchema } from '../../../runtime/permissions/hide-from-schema';
import type { JsonObject } from '../../../runtime/util/json';

const NAMES = { properties: { client_id: { const: 1 } } };
const $defs = { Names: NAMES };

const hide = (schema: unknown): JsonObject => hideFromSchema(schema as JsonObject, ['filter', 'client_id']);

it.each([
  ['if', { if: NAMES, then: { required: ['city'] }, else: { maxProperties: 2 } }, {}],
  ['then', { if: {}, then: NAMES }, { if: {}, then: { properties: {} } }],
  ['not', { not: { required: ['client_id'] } }, {}],
  ['not, by reference', { not: { $ref: '#/$defs/Names' } }, {}],
  ['not within allOf', { allOf: [{ not: NAMES, minProperties: 1 }] }, { allOf: [{ minProperties: 1 }] }],
  ['contains', { contains: NAMES }, {}],
  [
    'dependentSchemas',
    { dependentSchemas: { client_id: {}, city: NAMES } },
    { dependentSchemas: { city: { properties: {} } } },
  ],
  [
    'dependentRequired',
    { dependentRequired: { client_id: ['a'], city: ['a', 'client_id'] } },
    { dependentRequired: { city: ['a'] } },
  ],
  ['dependencies', { dependencies: { client_id: ['a'], city: ['client_id'] } }, { dependencies: { city: [] } }],
  [
    'patternProperties',
    { patternProperties: { '^client\\_id$': {}, '^x-': {} } },
    { patternProperties: { '^x-': {} } },
  ],
  ['propertyNames', { propertyNames: { enum: ['client_id', 'city'] } }, {}],
])('an argument is hidden under %s', (_keyword, rules, left) => {
  const shown = hide({ type: 'object', properties: { filter: rules }, $defs });
  expect(shown.properties).toEqual({ filter: left });
  expect(JSON.stringify(shown)).not.toContain('client_id');
});

it.each([
  ['additionalProperties', { additionalProperties: NAMES }],
  ['unevaluatedProperties', { unevaluatedProperties: { $ref: '#/$defs/Names' } }],
  ['patternProperties', { patternProperties: { '^f': NAMES } }],
])('it is hidden where the one around it has its schema from %s', (_keyword, rules) => {
  const shown = hide({ type: 'object', ...rules, $defs });
  expect(JSON.stringify(shown)).not.toContain('client_id');
});

it('conditions that do not name it stay as they are', () => {
  const rules = {
    if: { required: ['city'] },
    not: { required: ['zip'] },
    dependentRequired: { city: ['zip'] },
    patternProperties: { '^x-': {} },
    propertyNames: { maxLength: 9 },
    additionalProperties: { properties: { city: {} } },
  };
  const schema = { type: 'object', ...rules, properties: { filter: rules } };
  expect(hide(schema)).toBe(schema);
});

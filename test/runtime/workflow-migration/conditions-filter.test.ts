import { executeFilter, Expression, type FilterValue, type INodeParameters } from 'n8n-workflow';

import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import { filterTest } from '../../../runtime/workflow-migration/routers/conditions-filter';
import { fc } from '../../support/values/properties';

const engine = new Expression('UTC');

/** What n8n makes of a parameter for an item; an error where n8n fails. */
function resolve(parameter: unknown, json: object): unknown {
  if (typeof parameter !== 'string') return parameter;
  const data: Record<string, unknown> = { $json: json, $: () => ({ item: { json } }) };
  return engine.resolveSimpleParameterValue(parameter, data as never);
}

/** What n8n's own code says of a filter; undefined where it fails, since such an item comes behind no router. */
function nativeResult(filter: JsonObject, json: object): boolean | undefined {
  const conditions = (filter.conditions as unknown as INodeParameters[]).map((condition) => ({
    ...condition,
    leftValue: resolve(condition.leftValue, json),
    rightValue: resolve(condition.rightValue, json),
  }));
  try {
    // Some operators give the value itself.
    const result: unknown = executeFilter({ ...filter, conditions } as unknown as FilterValue, { itemIndex: 0 });
    return Boolean(result);
  } catch {
    return undefined;
  }
}

/** What the condition that is carried gives, or why it is not carried. */
function carriedResult(filter: JsonObject, json: object): boolean | string {
  const test = filterTest(filter);
  if (test.kind !== 'js') return test.kind === 'unknown' ? test.why.reason : 'always';
  expect(test.js).not.toMatch(/\{\{|\}\}/);
  return Boolean(resolve(`={{ (${test.js}) ? true : false }}`, json));
}

const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  string:
    'exists notExists empty notEmpty equals notEquals contains notContains startsWith notStartsWith endsWith notEndsWith regex notRegex'.split(
      ' ',
    ),
  number: 'exists notExists empty notEmpty equals notEquals gt lt gte lte'.split(' '),
  boolean: 'exists notExists empty notEmpty true false equals notEquals'.split(' '),
  dateTime: 'exists notExists empty notEmpty'.split(' '),
  array:
    'exists notExists empty notEmpty contains notContains lengthEquals lengthNotEquals lengthGt lengthLt lengthGte lengthLte'.split(
      ' ',
    ),
  object: 'exists notExists empty notEmpty'.split(' '),
};

const operator = fc.constantFrom(
  ...Object.entries(OPERATIONS).flatMap(([type, operations]) =>
    operations.map((operation) => ({
      type,
      operation,
      ...(type === 'array' && operation.startsWith('length') ? { rightType: 'number' } : {}),
      ...(type === 'array' && operation.toLowerCase().endsWith('contains') ? { rightType: 'any' } : {}),
    })),
  ),
);

const TEXTS = [
  '',
  ' ',
  'nano',
  'Nano',
  'NANO TIER',
  'ISTANBUL',
  'ı',
  '5',
  '05',
  ' 5 ',
  '0',
  '1',
  'true',
  'FALSE',
  'null',
  '[1,"nano"]',
  "['nano']",
  '{"a":1}',
  "it's",
  'a}}b{{c',
  'x.constructor',
  'ünï',
  '/nano/i',
  '^n',
  '2024-01-01',
];
const text = fc.constantFrom(...TEXTS);
const scalar = fc.oneof(text, fc.constantFrom(0, 1, 5, -5, 2.5, NaN), fc.boolean(), fc.constantFrom(null, undefined));
const field = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(fc.oneof(text, fc.constantFrom(0, 1, null)), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('b', 'c'), scalar, { noNullPrototype: true }) },
);
const item = fc.record({ a: field, n: field }, { noNullPrototype: true });

const code = fc.constantFrom(
  '={{ $json.a }}',
  '={{ $json.a.b }}',
  '={{ $json.n?.b.c }}',
  "={{ $json['n']['b'] }}",
  '={{$json.a;}}',
  '={{ $json.a /* why */ }}',
  '={{ $json.a // why\n }}',
  '={{ $json.a[0] }}',
  '={{ $json.a.length }}',
  '={{ $json.a.trim() }}',
  '={{ $json.a.isEmpty() }}',
  '={{ $json.a || "nano" }}',
  '={{ $json.n === 5, $json.a }}',
  '={{ { b: $json.a } }}',
  '={{ [$json.a, $json.n] }}',
  "={{ $('Start').item.json.n }}",
  '={{ missing }}',
  '= {{ $json.a }}',
  '={{ $json.a }}{{ $json.n }}',
  '=tier {{ $json.a.b.c }}!',
  '=nano',
  '=',
);
const left = fc.oneof({ weight: 4, arbitrary: code }, { weight: 1, arbitrary: text });
const right = fc.oneof(
  { weight: 2, arbitrary: text },
  { weight: 2, arbitrary: fc.constantFrom<JsonValue>(0, 1, 5, -5, 2.5, true, false, null) },
  { weight: 1, arbitrary: code },
);
const options = fc.record(
  {
    typeValidation: fc.constantFrom('strict', 'loose'),
    caseSensitive: fc.boolean(),
    version: fc.constantFrom(1, 2, 3),
  },
  { requiredKeys: ['typeValidation'], noNullPrototype: true },
);
const condition = fc.record({ leftValue: left, rightValue: right, operator }, { noNullPrototype: true });
const filter = fc.record(
  { combinator: fc.constantFrom('and', 'or'), conditions: fc.array(condition, { maxLength: 3 }), options },
  { noNullPrototype: true },
);

describe('conditions of Switch 3, IF 2 and Filter 2', () => {
  it('are carried as n8n’s own code decides, for all operators and values', () => {
    let compared = 0;
    fc.assert(
      fc.property(filter, item, (given, json) => {
        const expected = nativeResult(given, json);
        const carried = carriedResult(given, json);
        if (typeof carried === 'string' || expected === undefined) return;
        compared += 1;
        expect(carried).toBe(expected);
      }),
      { numRuns: 800 },
    );
    expect(compared).toBeGreaterThan(200);
  });
});

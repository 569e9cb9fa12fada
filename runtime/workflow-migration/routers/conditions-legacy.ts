import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { type Carried, carryParameter } from '../expressions/carry-expression';
import type { Side } from './filter-values';
import { regexTest } from './regex-test';
import { allOf, anyOf, jsTest, type Test, unknownTest } from './test-expressions';

/**
 * The types of IF 1 and Filter 1, in the order in which n8n tests them, with the operation and values that it fills in.
 */
const DEFAULTS = {
  boolean: { operation: 'equal', value: false },
  dateTime: { operation: 'after', value: '' },
  number: { operation: 'smaller', value: 0 },
  string: { operation: 'equal', value: '' },
} as const;
type DataType = keyof typeof DEFAULTS;

const DATA_TYPES = Object.keys(DEFAULTS) as readonly DataType[];

export function isDataType(type: unknown): type is DataType {
  return typeof type === 'string' && Object.hasOwn(DEFAULTS, type);
}

/** The conditions of IF 1 and Filter 1. */
export function legacyConditionsTest(conditions: JsonValue | undefined, combinesAll: boolean): Test {
  if (conditions !== undefined && !isJsonObject(conditions)) return UNREADABLE;
  const tests = DATA_TYPES.flatMap((type) => {
    const rows = conditions?.[type] ?? [];
    if (!Array.isArray(rows)) return [UNREADABLE];
    return rows.map((row: JsonValue) => (isJsonObject(row) ? legacyTest(type, row.value1, row) : UNREADABLE));
  });
  if (combinesAll) return tests.length === 0 ? jsTest('true') : allOf(tests);
  return anyOf(tests);
}

const UNREADABLE = unknownTest('condition-unreadable', 'A router has conditions in a form that n8n does not know.');

/**
 * One comparison of Switch 1 and 2, IF 1 and Filter 1: `value1` and `value2` as they are, whatever their type.
 * It holds exactly when n8n's own function says so, where that does not fail.
 */
export function legacyTest(type: DataType, value1: JsonValue | undefined, row: JsonObject): Test {
  const left = carryParameter(filledIn(type, value1));
  const right = carryParameter(filledIn(type, row.value2));
  const { operation: asked = DEFAULTS[type].operation } = row;
  if (left.kind === 'unknown') return left;
  if (typeof asked !== 'string') return UNREADABLE;
  const readValue = type === 'dateTime' ? time : plain;
  const single = SINGLE[asked];
  if (single !== undefined) return jsTest(single(readValue(left)));
  if (right.kind === 'unknown') return right;
  const js = (PAIR[asked] ?? none)(readValue(left), readValue(right), right);
  return carried(js, type, asked);
}

/** Fills in what n8n fills in: what is missing, and null too where the field takes text. */
function filledIn(type: DataType, given: JsonValue | undefined): JsonValue {
  const { value } = DEFAULTS[type];
  return value === '' ? (given ?? value) : given === undefined ? value : given;
}

const none = (): undefined => undefined;
const carried = (js: string | undefined, type: string, operation: string): Test =>
  js === undefined ? unknownTest('condition-operator', notCarried(type, operation)) : jsTest(js);
const notCarried = (type: string, operation: string): string =>
  `A condition uses "${type}: ${operation}", which cannot be carried.`;
const plain = (side: Side): string => side.js;
const time = (side: Side): string => `((v) => (typeof v === 'number' ? v : new Date(v).getTime()))(${side.js})`;
const text = (js: string): string => `(${js} || '').toString()`;

const EMPTY = `(v) => [undefined, null, '', NaN].includes(v) || (typeof v === 'object' && Object.entries(v).length === 0)`;

const SINGLE: Readonly<Record<string, (left: string) => string>> = {
  isEmpty: (left) => `(${EMPTY})(${left})`,
  isNotEmpty: (left) => `!(${EMPTY})(${left})`,
};

type Pair = (left: string, right: string, side: Side) => string | undefined;

const order =
  (operator: string): Pair =>
  (left, right, side) => {
    const isNumber = side.kind === 'constant' && typeof side.value === 'number';
    return `(${left} || 0) ${operator} ${isNumber ? right : `(${right} || 0)`}`;
  };

const pattern =
  (isNegated: boolean): Pair =>
  (left, _right, side) =>
    side.kind === 'constant'
      ? `${isNegated ? '!' : ''}${regexTest((side.value || '').toString(), text(left))}`
      : undefined;

const PAIR: Readonly<Record<string, Pair>> = {
  after: order('>'),
  before: order('<'),
  larger: order('>'),
  largerEqual: order('>='),
  smaller: order('<'),
  smallerEqual: order('<='),
  equal: (left, right) => `${left} === ${right}`,
  notEqual: (left, right) => `${left} !== ${right}`,
  contains: (left, right) => `${text(left)}.includes(${text(right)})`,
  notContains: (left, right) => `!${text(left)}.includes(${text(right)})`,
  startsWith: (left, right) => `${left}.startsWith(${right})`,
  notStartsWith: (left, right) => `!${left}.startsWith(${right})`,
  endsWith: (left, right) => `${left}.endsWith(${right})`,
  notEndsWith: (left, right) => `!${left}.endsWith(${right})`,
  regex: pattern(false),
  notRegex: pattern(true),
};

/** An expression that gives the number of an output. */
export function outputIs(output: JsonValue | undefined, index: number): Test {
  const carried: Carried = carryParameter(output);
  return carried.kind === 'unknown' ? carried : jsTest(`Number(${carried.js}) === ${index}`);
}

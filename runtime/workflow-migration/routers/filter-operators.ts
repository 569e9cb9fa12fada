import type { Carried } from '../expressions/carry-expression';
import { literal } from '../expressions/javascript';
import { type FilterOptions, readAs, type Side } from './filter-values';
import { regexTest } from './regex-test';
import { jsTest, type Test } from './test-expressions';

interface Comparison {
  readonly left: Side;
  readonly right: Carried;
  readonly type: string;
  readonly operation: string;
  readonly rightType: string;
  readonly options: FilterOptions;
}

/** Compares as n8n's `executeFilterCondition` does. Undefined for an operator that cannot be carried. */
export function compare(comparison: Comparison): Test | undefined {
  const { left, right, type, operation, options } = comparison;
  const existence = existsTest(left, comparison);
  if (existence !== undefined) return existence;
  const value = readAs(left, type, options);
  const byType = value === undefined ? undefined : OPERATORS[type];
  if (value === undefined || byType === undefined) return undefined;
  const single = byType.single[operation];
  if (single !== undefined) return jsTest(single(value, comparison));
  const pair = byType.pair[operation];
  if (pair === undefined || right.kind === 'unknown') return pair === undefined ? undefined : (right as Test);
  const js = pair(value, right, comparison);
  return js === undefined ? undefined : jsTest(js);
}

interface Operators {
  readonly single: Readonly<Record<string, (value: string, comparison: Comparison) => string>>;
  readonly pair: Readonly<Record<string, (value: string, right: Side, comparison: Comparison) => string | undefined>>;
}

/** Whether there is a value. A number that is none counts as missing; for text it has become text. */
function existsTest(left: Side, { type, operation, options }: Comparison): Test | undefined {
  const isAsked = isExistence(type, operation);
  if (isAsked === undefined) return undefined;
  if (type === 'number' || type === 'any') {
    const missing = '(v) => v === undefined || v === null || Number.isNaN(v)';
    return jsTest(`${isAsked ? '!' : ''}(${missing})(${readAs(left, type, options) ?? left.js})`);
  }
  if (!KNOWN_TYPES.has(type) || (type === 'object' && !options.isStrict)) return undefined;
  return jsTest(`(${left.js} ?? null) ${isAsked ? '!==' : '==='} null`);
}

/** Undefined for operators that compare. */
function isExistence(type: string, operation: string): boolean | undefined {
  if (operation === 'exists' || operation === 'notExists') return operation === 'exists';
  if (!EMPTY_IS_MISSING.has(type)) return undefined;
  if (operation === 'empty' || operation === 'notEmpty') return operation === 'notEmpty';
  return undefined;
}

const EMPTY_IS_MISSING = new Set(['number', 'boolean', 'dateTime']);
const KNOWN_TYPES = new Set(['string', 'boolean', 'dateTime', 'array', 'object']);

/** The text that n8n compares: nothing is the empty text. */
function textOf(value: string, { isCaseSensitive }: FilterOptions): string {
  return `(${value} ?? "")${isCaseSensitive ? '' : '.toLocaleLowerCase()'}`;
}

function rightText(right: Side, { rightType, options }: Comparison): string | undefined {
  const value = readAs(right, rightType, options);
  if (value === undefined) return undefined;
  if (right.kind !== 'constant' || typeof right.value !== 'string') return textOf(value, options);
  // In a Turkish locale "I" becomes another letter than elsewhere.
  const isPlain = /^[\x20-\x7e]*$/.test(right.value) && !right.value.includes('I');
  if (options.isCaseSensitive) return literal(right.value);
  return isPlain ? literal(right.value.toLowerCase()) : `${literal(right.value)}.toLocaleLowerCase()`;
}

const textEquals =
  (operator: '===' | '!=='): Operators['pair'][string] =>
  (value, right, comparison) => {
    const other = rightText(right, comparison);
    const isText = right.kind === 'constant' && typeof right.value === 'string' && right.value !== '';
    // Nothing is the empty text, which no other text equals.
    const own = isText && comparison.options.isCaseSensitive ? value : textOf(value, comparison.options);
    return other === undefined ? undefined : `${own} ${operator} ${other}`;
  };

const textMethod =
  (method: string, isNegated = false): Operators['pair'][string] =>
  (value, right, comparison) => {
    const other = rightText(right, comparison);
    if (other === undefined) return undefined;
    return `${isNegated ? '!' : ''}${textOf(value, comparison.options)}.${method}(${other})`;
  };

const textPattern =
  (isNegated: boolean): Operators['pair'][string] =>
  (value, right, { options }) => {
    if (right.kind !== 'constant' || typeof right.value === 'object') return undefined;
    return `${isNegated ? '!' : ''}${regexTest(String(right.value ?? ''), textOf(value, options))}`;
  };

const equals =
  (operator: '===' | '!=='): Operators['pair'][string] =>
  (value, right, { rightType, left, options }) => {
    const other = readAs(right, rightType, options);
    // Blank text, which is no number, does not equal one as it is either.
    const isNumber = right.kind === 'constant' && typeof right.value === 'number' && options.isStrict;
    return other === undefined ? undefined : `${isNumber ? left.js : value} ${operator} ${other}`;
  };

/** JavaScript reads what stands beside a number as n8n does. */
const order =
  (operator: string): Operators['pair'][string] =>
  (_value, right, { rightType, left, options }) => {
    const other = readAs(right, rightType, options);
    if (other === undefined) return undefined;
    const isNumber = right.kind === 'constant' && /^-?\d/.test(other);
    return isNumber ? `${left.js} ${operator} ${other}` : `Number(${left.js}) ${operator} Number(${other})`;
  };

const contains =
  (isNegated: boolean): Operators['pair'][string] =>
  (value, right, { rightType, options }) => {
    const other = readAs(right, rightType, options);
    if (other === undefined) return undefined;
    const same = 'typeof v === "string" && v.toLocaleLowerCase() === r.toLocaleLowerCase()';
    const anyCase = `(a, r) => (typeof r === "string" ? a.some((v) => ${same}) : a.includes(r))`;
    const list = `${value} ?? []`;
    const js = options.isCaseSensitive ? `(${list}).includes(${other})` : `(${anyCase})(${list}, ${other})`;
    return `${isNegated ? '!' : ''}${js}`;
  };

const lengthIs =
  (operator: string): Operators['pair'][string] =>
  (value, right, { rightType, options }) => {
    const other = rightType === 'number' ? readAs(right, rightType, options) : undefined;
    return other === undefined ? undefined : `(${value} ?? []).length ${operator} ${other}`;
  };

const OPERATORS: Readonly<Record<string, Operators>> = {
  string: {
    single: {
      empty: (value) => `(${value} ?? "") === ""`,
      notEmpty: (value) => `(${value} ?? "") !== ""`,
    },
    pair: {
      equals: textEquals('==='),
      notEquals: textEquals('!=='),
      contains: textMethod('includes'),
      notContains: textMethod('includes', true),
      startsWith: textMethod('startsWith'),
      notStartsWith: textMethod('startsWith', true),
      endsWith: textMethod('endsWith'),
      notEndsWith: textMethod('endsWith', true),
      regex: textPattern(false),
      notRegex: textPattern(true),
    },
  },
  number: {
    single: {},
    pair: {
      equals: equals('==='),
      notEquals: equals('!=='),
      gt: order('>'),
      lt: order('<'),
      gte: order('>='),
      lte: order('<='),
    },
  },
  boolean: {
    single: { true: (value) => `${value} === true`, false: (value) => `${value} !== true` },
    pair: { equals: equals('==='), notEquals: equals('!==') },
  },
  array: {
    single: {
      empty: (value) => `(${value} ?? []).length === 0`,
      notEmpty: (value) => `(${value} ?? []).length !== 0`,
    },
    pair: {
      contains: contains(false),
      notContains: contains(true),
      lengthEquals: lengthIs('==='),
      lengthNotEquals: lengthIs('!=='),
      lengthGt: lengthIs('>'),
      lengthLt: lengthIs('<'),
      lengthGte: lengthIs('>='),
      lengthLte: lengthIs('<='),
    },
  },
  object: {
    single: {
      empty: (value) => `((v) => !v || Object.keys(v).length === 0)(${value})`,
      notEmpty: (value) => `((v) => Boolean(v) && Object.keys(v).length !== 0)(${value})`,
    },
    pair: {},
  },
};

import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { carryParameter } from '../expressions/carry-expression';
import { compare } from './filter-operators';
import type { FilterOptions } from './filter-values';
import { allOf, anyOf, jsTest, type Test, unknownTest } from './test-expressions';

/**
 * The conditions of Switch 3, IF 2, Filter 2 and Model Selector. It holds exactly when n8n's own `executeFilter` says
 * so, for values on which that does not fail: an item on which it fails never comes behind the router.
 */
export function filterTest(filter: JsonValue | undefined): Test {
  if (typeof filter === 'string' && filter.startsWith('=')) return unknownTest('condition-value', EXPRESSION);
  if (!isJsonObject(filter)) return jsTest('false');
  // n8n takes any other object for a condition that holds.
  if (!('conditions' in filter) || !('combinator' in filter)) return jsTest('true');
  const { conditions, combinator } = filter;
  if (!Array.isArray(conditions)) return UNREADABLE;
  const options = readOptions(filter.options);
  const tests = conditions.map((condition: JsonValue) => conditionTest(condition, options));
  if (combinator === 'or') return anyOf(tests);
  if (combinator !== 'and') return UNREADABLE;
  return tests.length === 0 ? jsTest('true') : allOf(tests);
}

const UNREADABLE = unknownTest('condition-unreadable', 'A router has conditions in a form that n8n does not know.');
const EXPRESSION = 'The conditions of a router are an expression themselves.';

function readOptions(options: JsonValue | undefined): FilterOptions {
  const given: JsonObject = isJsonObject(options) ? options : {};
  return {
    isStrict: given.typeValidation === 'strict',
    isCaseSensitive: Boolean(given.caseSensitive),
    version: typeof given.version === 'number' ? given.version : 1,
  };
}

function conditionTest(condition: JsonValue, options: FilterOptions): Test {
  if (!isJsonObject(condition) || !isJsonObject(condition.operator))
    return unknownTest('condition-unreadable', 'A condition of a router has no operator.');
  const { type, operation, rightType = type } = condition.operator;
  if (typeof type !== 'string' || typeof operation !== 'string' || typeof rightType !== 'string')
    return unknownTest('condition-unreadable', 'A condition of a router has no operator that n8n knows.');
  const left = carryParameter(condition.leftValue);
  const right = carryParameter(condition.rightValue);
  if (left.kind === 'unknown') return left;
  return (
    compare({ left, right, type, operation, rightType, options }) ??
    unknownTest('condition-operator', `A condition uses "${type}: ${operation}", which cannot be carried.`)
  );
}

import type { NumericLimit, ToolPermission } from '../contracts/tools/permission';
import type { ParsedInput } from '../contracts/tools/tool';
import { ExactInteger } from '../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { compilePattern, type Matches } from './name-pattern';

/** The arguments with every number within its limits, or why they are refused. */
type CheckArguments = (input: JsonObject) => ParsedInput;

/**
 * Rules for arguments, compiled once. They are checked on values that have passed the tool's schema. A tool with such
 * rules takes arguments that its schema declares only: another spelling of a name must not go around a rule.
 */
export function compileArgumentRules(
  { limits, patterns }: Pick<ToolPermission, 'limits' | 'patterns'>,
  schema: JsonObject,
  fixed: readonly string[] = [],
): CheckArguments {
  const checks = Object.entries(patterns).flatMap(([argument, lists]) => {
    const compiled = lists.map((list) => list.map(compilePattern));
    return pathsOf(argument).map((path) => ({ argument, path, lists: compiled }));
  });
  const clamps = Object.entries(limits).flatMap(([argument, limit]) =>
    pathsOf(argument).map((path) => ({ argument, path, limit })),
  );
  if (checks.length === 0 && clamps.length === 0) return (input) => ({ ok: true, value: input });
  const impossible = clamps.find(({ limit: { min = -Infinity, max = Infinity } }) => min > max);
  if (impossible !== undefined) return () => refuse(`the rules leave no value for "${impossible.argument}"`);
  const ruled = new Set([...fixed, ...[...checks, ...clamps].map(({ path }) => String(path[0]))]);
  return (input) => {
    const stranger = Object.keys(input).find((name) => !isDeclared(schema, name) && !ruled.has(name));
    if (stranger !== undefined) return refuse(`argument "${stranger}" is not one of its arguments`);
    for (const { argument, path, lists } of checks) {
      if (!lists.every((list) => matchesAt(input, path, list))) {
        return refuse(`the value of "${argument}" is not allowed`);
      }
    }
    let value = input;
    for (const { argument, path, limit } of clamps) {
      const clamped = clampAt(value, path, { limit, schema });
      if (clamped === undefined) return refuse(`"${argument}" must be a number ${describeLimit(limit)}`);
      value = clamped;
    }
    return { ok: true, value };
  };
}

function refuse(issues: string): ParsedInput {
  return { ok: false, issues, code: 'TOOL_PERMISSION_DENIED' };
}

function isDeclared({ properties }: JsonObject, name: string): boolean {
  return !isJsonObject(properties) || Object.hasOwn(properties, name);
}

/** `a.b` is the argument `b` within `a`, and an argument that has the dot in its name. */
function pathsOf(argument: string): readonly (readonly string[])[] {
  return argument.includes('.') ? [argument.split('.'), [argument]] : [[argument]];
}

/** True when every value that there is at `path`, in lists too, matches; what is left out needs not. */
function matchesAt(value: JsonValue, [key, ...rest]: readonly string[], patterns: readonly Matches[]): boolean {
  if (key === undefined) return matchesList(value, patterns);
  if (Array.isArray(value)) return value.every((entry: JsonValue) => matchesAt(entry, [key, ...rest], patterns));
  if (!isJsonObject(value)) return value === null;
  const inner = Object.hasOwn(value, key) ? value[key] : undefined;
  return inner === undefined || matchesAt(inner, rest, patterns);
}

/** Whether every entry of a list matches; what is neither text nor number cannot be judged, and so is refused. */
function matchesList(value: JsonValue, patterns: readonly Matches[]): boolean {
  if (Array.isArray(value)) return value.every((entry: JsonValue) => matchesList(entry, patterns));
  const text: unknown = value instanceof ExactInteger ? value.toString() : value;
  if (typeof text !== 'string' && typeof text !== 'number' && typeof text !== 'boolean') return false;
  return patterns.some((matches) => matches(String(text)));
}

interface Clamping {
  readonly limit: NumericLimit;
  readonly schema: JsonObject;
}

/** A copy with the number at `path` within the limit; undefined when there is something else than a number. */
function clampAt(input: JsonObject, [key = '', ...rest]: readonly string[], rule: Clamping): JsonObject | undefined {
  const present = Object.hasOwn(input, key) ? input[key] : undefined;
  if (rest.length > 0) return present === undefined ? input : clampWithin(input, [key, ...rest], rule);
  if (present === undefined || present === null) return inject(input, key, rule);
  if (typeof present !== 'number' || !Number.isFinite(present)) return undefined;
  return { ...input, [key]: clamp(present, rule.limit) };
}

function clampWithin(
  input: JsonObject,
  [key = '', ...rest]: readonly string[],
  rule: Clamping,
): JsonObject | undefined {
  const inner = clampInner(input[key], rest, { ...rule, schema: {} });
  return inner === undefined ? undefined : { ...input, [key]: inner };
}

function clampInner(present: JsonValue | undefined, path: readonly string[], rule: Clamping): JsonValue | undefined {
  if (isJsonObject(present)) return clampAt(present, path, rule);
  if (!Array.isArray(present)) return undefined;
  const entries = present.map((entry: JsonValue) => clampInner(entry, path, rule));
  return entries.some((entry) => entry === undefined) ? undefined : (entries as JsonValue[]);
}

/**
 * A limit must hold for an argument that is left out too, unless the tool does not know it: a dot is seldom part of a
 * name.
 */
function inject(input: JsonObject, key: string, { limit, schema }: Clamping): JsonObject {
  const value = limit.max ?? limit.min;
  const mayBeTaken = schema.additionalProperties !== false && !key.includes('.');
  const isTaken = (isJsonObject(schema.properties) && Object.hasOwn(schema.properties, key)) || mayBeTaken;
  return value === undefined || !isTaken ? input : { ...input, [key]: value };
}

function clamp(value: number, { min = -Infinity, max = Infinity }: NumericLimit): number {
  const isWhole = Number.isInteger(value);
  const upper = isWhole && Number.isFinite(max) ? Math.floor(max) : max;
  const lower = isWhole && Number.isFinite(min) ? Math.ceil(min) : min;
  // Plus zero, since -0 is written as 0 but compared as less by some.
  return Math.min(Math.max(value, lower), upper) + 0;
}

function describeLimit({ min, max }: NumericLimit): string {
  const words = [min === undefined ? '' : `from ${min}`, max === undefined ? '' : `up to ${max}`];
  return words.filter((word) => word !== '').join(' ');
}

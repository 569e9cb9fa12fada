import { isJsonObject } from '../util/json';

/** Names in a list, and rules in a record. */
const MAX_ENTRIES = 500;
/** All patterns of one level: each is compiled for every tool that it is for. */
const MAX_PATTERNS = 100;

/** What is too much in one level of rules, as a sentence; looked at before anything in it is compiled. */
export function excessOfLevel(level: unknown): string | undefined {
  if (!isJsonObject(level)) return undefined;
  const { tool_permissions: permissions, enabled_tools: enabled, disabled_tools: disabled } = level;
  const large = [level, enabled, disabled, permissions].some((value) => sizeOf(value) > MAX_ENTRIES);
  if (large) return `it has more than ${MAX_ENTRIES} entries in one list`;
  return excessOf(isJsonObject(permissions) ? Object.values(permissions) : []);
}

/** The same for the rules of some tools. */
export function excessOf(permissions: readonly unknown[]): string | undefined {
  const records = permissions.filter(isJsonObject);
  const inner = records.flatMap((one) => [one.limits, one.fixed_arguments, one.allowed_patterns]);
  if (inner.some((value) => sizeOf(value) > MAX_ENTRIES)) return `it has more than ${MAX_ENTRIES} entries in one list`;
  const lists = records.flatMap(({ allowed_patterns: patterns, allowed_phone_patterns: phones }) => [
    ...(isJsonObject(patterns) ? Object.values(patterns) : []),
    ...(phones === undefined ? [] : [phones]),
  ]);
  const count = lists.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 1), 0);
  return count > MAX_PATTERNS ? `it has more than ${MAX_PATTERNS} patterns` : undefined;
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

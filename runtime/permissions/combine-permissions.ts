import type { AgentCallLimits, Decision, NumericLimit, ToolPermission } from '../contracts/tools/permission';
import type { JsonObject } from '../util/json';
import { least } from './read-tool-rules';

const STRICTNESS: readonly Decision[] = ['allow', 'ask', 'deny'];

const FREE: ToolPermission = { decision: 'allow', limits: {}, patterns: {}, fixedArguments: {} };

/**
 * All levels at once: each can only narrow what the others leave. Of two fixed values for one argument the first level's
 * counts.
 */
export function combinePermissions(levels: readonly ToolPermission[]): ToolPermission {
  return levels.reduce(both, FREE);
}

function both(a: ToolPermission, b: ToolPermission): ToolPermission {
  return {
    decision: STRICTNESS.indexOf(a.decision) >= STRICTNESS.indexOf(b.decision) ? a.decision : b.decision,
    limits: mergeKeys(a.limits, b.limits, narrower),
    patterns: mergeKeys(a.patterns, b.patterns, (one, other) => [...one, ...other]),
    fixedArguments: layLast(a.fixedArguments, b.fixedArguments),
    timeoutMs: least(a.timeoutMs, b.timeoutMs),
    callsPerMinute: least(a.callsPerMinute, b.callsPerMinute),
    callsPerDay: least(a.callsPerDay, b.callsPerDay),
    callsPerRun: least(a.callsPerRun, b.callsPerRun),
    ofAgent: bothOfAgent(a.ofAgent, b.ofAgent),
  };
}

/**
 * They are laid in this order, so what the earlier level fixes must stand behind all of the later one's, also where both
 * fix the same: a later `filter` would otherwise replace an earlier `filter.client_id`.
 */
function layLast(earlier: JsonObject, later: JsonObject): JsonObject {
  const added = Object.entries(later).filter(([name]) => !Object.hasOwn(earlier, name));
  return { ...Object.fromEntries(added), ...earlier };
}

/** A run has one agent, so both are of the same. */
function bothOfAgent(a: AgentCallLimits | undefined, b: AgentCallLimits | undefined): AgentCallLimits | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    agent: a.agent,
    callsPerMinute: least(a.callsPerMinute, b.callsPerMinute),
    callsPerDay: least(a.callsPerDay, b.callsPerDay),
  };
}

function narrower(a: NumericLimit, b: NumericLimit): NumericLimit {
  const min = a.min === undefined || b.min === undefined ? (a.min ?? b.min) : Math.max(a.min, b.min);
  return { min, max: least(a.max, b.max) };
}

function mergeKeys<T>(
  a: Readonly<Record<string, T>>,
  b: Readonly<Record<string, T>>,
  merge: (a: T, b: T) => T,
): Readonly<Record<string, T>> {
  const merged = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const known = merged.get(key);
    merged.set(key, known === undefined ? value : merge(known, value));
  }
  return Object.fromEntries(merged);
}

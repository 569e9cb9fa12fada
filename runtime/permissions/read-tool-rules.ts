import * as z from 'zod/v4';

import type { ToolPermission } from '../contracts/tools/permission';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { ExactInteger } from '../util/exact-integer';
import { isJsonObject, type JsonObject, prototypeKeyIn } from '../util/json';
import { strictObject } from '../util/known-keys';
import { patternSize } from '../util/pattern-size';
import { compilePattern } from './name-pattern';
import { excessOf, excessOfLevel } from './rule-bounds';
import { nearAgent, type RulesAt, type UnmatchedRule } from './unmatched-rules';

const MAX_PATTERN_LENGTH = 1000;
/** The largest pattern, in steps, since repetitions multiply. */
const MAX_PATTERN_SIZE = 2000;
/** The longest name of an argument, with the path to it. */
const MAX_NAME_LENGTH = 200;
/** The highest number that the database counts to. */
const MAX_COUNT = 2_147_483_647;
const count = z.coerce.number().int().min(0).max(MAX_COUNT);
const pattern = z
  .string()
  .max(MAX_PATTERN_LENGTH)
  .check(({ value, issues }) => {
    if (value.length > MAX_PATTERN_LENGTH) return;
    try {
      if (value.startsWith('/') && patternSize(value) > MAX_PATTERN_SIZE) throw new Error('it is too large');
      compilePattern(value);
    } catch (error) {
      issues.push({ code: 'custom', message: `is not a pattern: ${errorText(error)}`, input: value });
    }
  });
/** One pattern may stand without a list around it. */
const patternList = z.preprocess((raw) => (typeof raw === 'string' ? [raw] : raw), z.array(pattern));
/** Limits compare the nearest numbers. */
const number = z.union([z.number(), z.instanceof(ExactInteger).transform(Number)], 'is no number');
const limit = strictObject({ min: number.optional(), max: number.optional() }).refine(
  ({ min, max }) => min === undefined || max === undefined || min <= max,
  'has a min above its max',
);

const fixedArguments = z.record(z.string(), z.unknown()).check(({ value, issues }) => {
  const message = whyNotLaid(Object.keys(value));
  if (message !== undefined) issues.push({ code: 'custom', message, input: value });
});

const permissionSchema = strictObject({
  decision: z.enum(['allow', 'deny', 'ask']).default('allow'),
  limits: z.record(z.string(), limit).default({}),
  allowed_patterns: z.record(z.string(), patternList).default({}),
  fixed_arguments: fixedArguments.default({}),
  timeout_seconds: z.number().positive().optional(),
  rate_limit_per_minute: count.optional(),
  rate_limit_per_day: count.optional(),
  max_calls_per_run: count.optional(),
  // The source documents' own words for three of these.
  rate_limit: count.optional(),
  max_results: number.optional(),
  allowed_phone_patterns: patternList.optional(),
});

const names = z.array(z.string());
const levelKeys = {
  enabled_tools: names.nullish(),
  disabled_tools: names.nullish(),
  tool_permissions: z.record(z.string(), z.unknown()).nullish(),
  default: z.enum(['allow', 'read-only', 'deny']).nullish(),
};
const rulesSchema = strictObject(levelKeys);
const tenantSchema = strictObject({ ...levelKeys, agents: z.record(z.string(), z.unknown()).nullish() });

type Level = z.output<typeof rulesSchema>;

/**
 * One level of rules as it stands in the database or in a task. Nothing at all is no rule. Throws POLICY_INVALID:
 * a rule that cannot be read must not fall away.
 */
export function readToolRules(raw: unknown, where: string): RulesAt {
  return toRules(parse(rulesSchema, raw ?? {}, where), where);
}

function toRules(level: Level, where: string): RulesAt {
  const excess = excessOfLevel(level);
  if (excess !== undefined) throw invalid(where, excess);
  const { enabled_tools, disabled_tools, tool_permissions, default: otherwise } = level;
  return {
    where,
    isOwn: false,
    enabled: enabled_tools ?? undefined,
    disabled: disabled_tools ?? [],
    permissions: Object.entries(tool_permissions ?? {}).map(([name, permission]) => ({
      name,
      permission: readPermission(permission, `${where}.tool_permissions.${name}`),
    })),
    otherwise: otherwise === 'allow' ? undefined : (otherwise ?? undefined),
    granted: [
      ...(enabled_tools ?? []),
      ...Object.entries(tool_permissions ?? {}).flatMap(([name, permission]) => (isGrant(permission) ? name : [])),
    ],
  };
}

/** Reports a permission that explicitly allows the tool; limits alone do not. */
export function isGrant(permission: unknown): boolean {
  return isJsonObject(permission) && (permission.decision === 'allow' || permission.decision === 'ask');
}

/** The rules for one tool. Throws POLICY_INVALID. */
export function readPermission(raw: unknown, where: string): ToolPermission {
  const excess = excessOf([raw]);
  if (excess !== undefined) throw invalid(where, excess);
  const data = parse(permissionSchema, raw, where);
  return {
    decision: data.decision,
    limits: { ...(data.max_results === undefined ? {} : { max_results: { max: data.max_results } }), ...data.limits },
    patterns: readPatterns(data),
    fixedArguments: data.fixed_arguments as JsonObject,
    timeoutMs: data.timeout_seconds === undefined ? undefined : data.timeout_seconds * 1000,
    callsPerMinute: least(data.rate_limit_per_minute, data.rate_limit),
    callsPerDay: data.rate_limit_per_day,
    callsPerRun: data.max_calls_per_run,
  };
}

function readPatterns(data: z.output<typeof permissionSchema>): ToolPermission['patterns'] {
  const { allowed_patterns: lists, allowed_phone_patterns: phones } = data;
  const patterns = Object.fromEntries(Object.entries(lists).map(([argument, list]) => [argument, [list]]));
  return phones === undefined ? patterns : { ...patterns, phone: [...(patterns.phone ?? []), phones] };
}

/** Fixed arguments are laid one after another, and of two that overlap the second would undo the first. */
function whyNotLaid(names: readonly string[]): string | undefined {
  if (names.some((name) => name.length > MAX_NAME_LENGTH)) {
    return `the name of an argument is longer than ${MAX_NAME_LENGTH} characters`;
  }
  // An object has such keys always first, whatever order they are to be laid in.
  if (names.some((name) => /^\d+$/.test(name))) return 'a fixed argument cannot have a number for its name';
  // With the smallest character for the dot, what lies within an argument comes right behind it.
  const sorted = names.map((name) => name.replaceAll('.', '\0')).sort();
  const at = sorted.findIndex((name, index) => sorted[index + 1]?.startsWith(`${name}\0`));
  if (at < 0) return undefined;
  const [outer, inner] = sorted.slice(at, at + 2).map((name) => name.replaceAll('\0', '.'));
  return `it fixes "${inner}" and "${outer}", one within the other`;
}

/** The smaller of two limits; an absent one is no limit. */
export function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/**
 * What could reach a prototype is refused by name: left out, the rest would be another rule than the one that was
 * written.
 */
function parse<T extends z.ZodType>(schema: T, raw: unknown, where: string): z.output<T> {
  const forbidden = prototypeKeyIn(raw);
  if (forbidden !== undefined) throw invalid(where, `"${forbidden}" cannot be the name of anything in rules`);
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = [where, ...(issue?.path ?? [])].map(String).join('.');
  throw invalid(place, issue?.message ?? 'it cannot be read');
}

function invalid(where: string, reason: string): RuntimeError {
  return new RuntimeError('POLICY_INVALID', { where, reason });
}

/** The levels that stand within a tenant's tool_config: its own rules, and those of the agent. */
export function tenantLevels(toolConfig: unknown, agent: string | undefined): readonly RulesAt[] {
  const { agents, ...own } = parse(tenantSchema, toolConfig ?? {}, TENANT);
  const levels = [ofTenant(toRules(own, TENANT))];
  if (agent === undefined || !Object.hasOwn(agents ?? {}, agent)) return levels;
  const ofAgent = readToolRules(agents?.[agent], `${TENANT}.agents.${agent}`);
  return [...levels, ofTenant(countedForAgent(ofAgent, agent))];
}

function ofTenant(rules: RulesAt): RulesAt {
  return { ...rules, isOwn: true };
}

/** The rules of an agent's own definition. Throws POLICY_INVALID. */
export function agentLevel(rules: unknown, agent: string): RulesAt {
  return countedForAgent(readToolRules(rules, `agent "${agent}"`), agent);
}

/** Names of the agents with rules in a tenant's tool_config. Throws POLICY_INVALID. */
export function agentsWithRules(toolConfig: unknown): readonly string[] {
  return Object.keys(parse(tenantSchema, toolConfig ?? {}, TENANT).agents ?? {});
}

/** Returns the rules of an agent with nearly the name of the task's agent, if that has none. */
export function rulesOfNearAgent(toolConfig: unknown, agent: string | undefined): UnmatchedRule | undefined {
  const near = agent === undefined ? undefined : nearAgent(agent, agentsWithRules(toolConfig));
  return near === undefined
    ? undefined
    : { rule: `${TENANT}.agents.${near}`, reason: `the agent of this task is "${agent}"` };
}

/** Limits over time that stand with an agent count its calls alone, not those of all agents of the tenant. */
function countedForAgent(rules: RulesAt, agent: string): RulesAt {
  const permissions = rules.permissions.map(({ name, permission }) => {
    const { callsPerMinute, callsPerDay, ...rest } = permission;
    if (callsPerMinute === undefined && callsPerDay === undefined) return { name, permission };
    return { name, permission: { ...rest, ofAgent: { agent, callsPerMinute, callsPerDay } } };
  });
  return { ...rules, permissions };
}

const TENANT = 'settings.tool_config';

/** All levels in a tenant's tool_config, whichever agent they are for. Throws POLICY_INVALID. */
export function allTenantLevels(toolConfig: unknown): readonly RulesAt[] {
  const own = tenantLevels(toolConfig, undefined);
  return [...own, ...agentsWithRules(toolConfig).flatMap((agent) => tenantLevels(toolConfig, agent).slice(own.length))];
}

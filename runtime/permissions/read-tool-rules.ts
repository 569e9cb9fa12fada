import * as z from 'zod/v4';

import type { ToolPermission, ToolRules } from '../contracts/permission';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isJsonObject, withoutPrototypeKeys, type JsonObject, type JsonValue } from '../util/json';
import { compilePattern } from './name-pattern';

const MAX_PATTERN_LENGTH = 1000;
/** As much as the database counts. */
const MAX_COUNT = 2_147_483_647;
const count = z.coerce.number().int().min(0).max(MAX_COUNT);
const pattern = z
  .string()
  .max(MAX_PATTERN_LENGTH)
  .check(({ value, issues }) => {
    try {
      compilePattern(value);
    } catch (error) {
      issues.push({ code: 'custom', message: `is not a pattern: ${errorText(error)}`, input: value });
    }
  });
/** One pattern may stand without a list around it. */
const patternList = z.preprocess((raw) => (typeof raw === 'string' ? [raw] : raw), z.array(pattern));
const limit = z
  .object({ min: z.number().optional(), max: z.number().optional() })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, 'has a min above its max');

const permissionSchema = z.object({
  decision: z.enum(['allow', 'deny', 'ask']).default('allow'),
  limits: z.record(z.string(), limit).default({}),
  allowed_patterns: z.record(z.string(), patternList).default({}),
  fixed_arguments: z.record(z.string(), z.unknown()).default({}),
  timeout_seconds: z.number().positive().optional(),
  rate_limit_per_minute: count.optional(),
  rate_limit_per_day: count.optional(),
  max_calls_per_run: count.optional(),
  // The source documents' own words for three of these.
  rate_limit: count.optional(),
  max_results: z.number().optional(),
  allowed_phone_patterns: patternList.optional(),
});

const names = z.array(z.string());
const rulesSchema = z.object({
  enabled_tools: names.nullish(),
  disabled_tools: names.nullish(),
  tool_permissions: z.record(z.string(), z.unknown()).nullish(),
});

/**
 * One level of rules as it stands in the database or in a task. Nothing at all is no rule. Throws POLICY_INVALID:
 * a rule that cannot be read must not fall away.
 */
export function readToolRules(raw: unknown, where: string): ToolRules {
  if (raw === null || raw === undefined) return NO_RULES;
  const parsed = rulesSchema.safeParse(isJsonObject(raw) ? withoutPrototypeKeys(raw) : raw);
  if (!parsed.success) throw invalid(where, parsed.error);
  const { enabled_tools, disabled_tools, tool_permissions } = parsed.data;
  return {
    enabled: enabled_tools ?? undefined,
    disabled: disabled_tools ?? [],
    permissions: Object.entries(tool_permissions ?? {}).map(([name, permission]) => ({
      name,
      permission: readPermission(permission, `${where}.tool_permissions.${name}`),
    })),
  };
}

const NO_RULES: ToolRules = { disabled: [], permissions: [] };

/** The rules for one tool. Throws POLICY_INVALID. */
export function readPermission(raw: unknown, where: string): ToolPermission {
  const parsed = permissionSchema.safeParse(isJsonObject(raw) ? withoutPrototypeKeys(raw) : raw);
  if (!parsed.success) throw invalid(where, parsed.error);
  const { data } = parsed;
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

/** The smaller of two limits; an absent one is no limit. */
export function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

function invalid(where: string, error: z.ZodError): RuntimeError {
  const issue = error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  return new RuntimeError('POLICY_INVALID', {
    where: path === '' ? where : `${where}.${path}`,
    reason: issue?.message ?? 'it cannot be read',
  });
}

/** The levels that stand within a tenant's tool_config: its own rules, and those of the agent. */
export function tenantLevels(toolConfig: unknown, agent: string | undefined): readonly ToolRules[] {
  const agents = isJsonObject(toolConfig) ? toolConfig.agents : undefined;
  const own = readToolRules(toolConfig, 'settings.tool_config');
  if (agent === undefined || agents === undefined || agents === null) return [own];
  if (!isJsonObject(agents)) {
    throw new RuntimeError('POLICY_INVALID', { where: 'settings.tool_config.agents', reason: 'expected an object' });
  }
  const ofAgent: JsonValue | undefined = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  return [own, countedForAgent(readToolRules(ofAgent, `settings.tool_config.agents.${agent}`), agent)];
}

/** Limits over time that stand with an agent count its calls alone, not those of all agents of the tenant. */
function countedForAgent(rules: ToolRules, agent: string): ToolRules {
  const permissions = rules.permissions.map(({ name, permission }) => {
    const { callsPerMinute, callsPerDay, ...rest } = permission;
    if (callsPerMinute === undefined && callsPerDay === undefined) return { name, permission };
    return { name, permission: { ...rest, ofAgent: { agent, callsPerMinute, callsPerDay } } };
  });
  return { ...rules, permissions };
}

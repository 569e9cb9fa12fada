import type { TenantSettings } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { type Guards, nearMisses } from '../util/known-keys';
import { withoutExponent } from '../util/text/without-exponent';
import { words } from '../util/text/words';
import { readObject } from './read-object';

/** The settings of a tenant's row. Throws SETTING_INVALID. */
export function parseSettings(text: string | null): TenantSettings {
  const { value: raw, reason } = readObject(text);
  // Its limits and rules would fall away with it.
  if (reason !== undefined) throw new RuntimeError('SETTING_INVALID', { setting: 'settings', reason });
  refuseNearMisses(raw);
  return {
    defaultTier: nonEmpty(raw.default_tier),
    // A limit of the wrong type must not fall away: as text it is an unknown tier, and refused.
    maxTier: limitText(raw.max_tier),
    maxIterations: positiveInteger(raw.max_iterations),
    modelSilenceSeconds: secondsOf(raw.model_silence_seconds),
    monthlyCostLimitUsd: limitText(raw.monthly_cost_limit_usd),
    monthlyTokenLimit: limitText(raw.monthly_token_limit),
    runsPerMinute: limitText(raw.runs_per_minute),
    sessionDays: within(SESSION_DAYS, positiveInteger(raw.session_days)),
    sessionWindowTokens: within(WINDOW_TOKENS, positiveInteger(raw.session_window_tokens)),
    timeZone: nonEmpty(raw.timezone),
    tellContext: typeof raw.tell_context === 'boolean' ? raw.tell_context : undefined,
    language: wordsOf(raw.language),
    customerMessages: textsOf(raw.customer_messages),
    agentPersonality: wordsOf(raw.agent_personality),
    workingHours: wordsOf(raw.working_hours),
    toolConfig: raw.tool_config,
    mcpAllowedHosts: raw.mcp_allowed_hosts,
    callbackHosts: raw.callback_hosts,
  };
}

type Bounds = readonly [least: number, most: number];
/** Up to a hundred years. */
const SESSION_DAYS: Bounds = [1, 36_500];
/** A smaller one has no room for a summary. */
const WINDOW_TOKENS: Bounds = [200, 2_000_000];

const SETTINGS: readonly string[] = words(`
  default_tier max_tier max_iterations model_silence_seconds monthly_cost_limit_usd
  monthly_token_limit runs_per_minute session_days session_window_tokens tool_config mcp_allowed_hosts callback_hosts
`);
/** Settings that models and customers read; they guard nothing. */
const TOLD: readonly string[] = words(
  'timezone tell_context language customer_messages agent_personality working_hours',
);
const GUARDS: Guards = {
  isShared: true,
  keys: SETTINGS.filter((key) => key !== 'default_tier'),
  elsewhere: {
    enabled_tools: 'tool_config.enabled_tools',
    disabled_tools: 'tool_config.disabled_tools',
    tool_permissions: 'tool_config.tool_permissions',
  },
};

/** Other programs keep settings of theirs there too. But what looks like a slip in one of ours that guards is refused. */
function refuseNearMisses(raw: JsonObject): void {
  const unknown = Object.keys(raw).filter((key) => !SETTINGS.includes(key) && !TOLD.includes(key));
  const [missed] = nearMisses(unknown, GUARDS);
  if (missed === undefined) return;
  const reason = `there is no such setting (did you mean "${missed.instead}"?)`;
  throw new RuntimeError('SETTING_INVALID', { setting: missed.key, reason });
}

function nonEmpty(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a setting as text for a model, other values than text as JSON. */
function wordsOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the texts among an object's values, without empty ones. */
function textsOf(value: JsonValue | undefined): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => nonEmpty(entry[1]) !== undefined),
  );
}

function positiveInteger(value: JsonValue | undefined): number | undefined {
  const parsed = numberOf(value);
  return Number.isInteger(parsed) && parsed > 0 ? parsed : undefined;
}

function within([least, most]: Bounds, value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.min(most, Math.max(least, value));
}

/** Returns a positive number of at most a day. */
export function secondsOf(value: JsonValue | undefined): number | undefined {
  const parsed = numberOf(value);
  return parsed > 0 && parsed <= 86_400 ? parsed : undefined;
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
}

/** Not checked here: a limit of the wrong form, such as an empty text, must not fall away, so whoever uses it refuses the run. */
function limitText(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return withoutExponent(typeof value === 'string' ? value : JSON.stringify(value));
}

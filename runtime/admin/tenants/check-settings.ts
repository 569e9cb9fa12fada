import { readBudget, readRunsPerMinute } from '../../billing/budget';
import { isMessageKey } from '../../errors/customer-messages';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { findTier } from '../../models/select-model';
import { mergeTiers } from '../../models/tiers';
import { allTenantLevels } from '../../permissions/read-tool-rules';
import { LIST_TIERS, type TierModelRow } from '../../storage/sql/manage-prices';
import type { Query } from '../../storage/statement';
import { parseSettings } from '../../tenants/parse-settings';
import { asObject } from '../../tenants/read-object';
import { readAllowedHosts } from '../../tools/web/allowed-hosts';
import { isJsonObject, isTextList } from '../../util/json';
import { zonedTime } from '../../util/text/zoned-time';
import { checkRules } from '../tools/check-rules';

/** Settings that a run reads only when it needs them. */
export const CHECKED_SETTINGS = [
  ...['callback_hosts', 'mcp_allowed_hosts', 'max_iterations', 'default_tier', 'max_tier'],
  ...['timezone', 'tell_context', 'customer_messages', 'session_days', 'session_window_tokens'],
];

const NOT_WHOLE = 'it is not a whole number above 0';

interface NewSettings {
  /** The keys that were given. */
  readonly changed: readonly string[];
  /** Names of tools of this process. */
  readonly codeTools: readonly string[];
}

/**
 * Reads a tenant's settings as a run would, and of those that are `changed` also what a run passes over or reads only when it
 * needs it: a limit can be set whatever else is wrong. Throws SETTING_INVALID, POLICY_INVALID, TIER_UNKNOWN or RULE_UNMATCHED.
 */
export async function checkSettings(
  query: Query,
  text: string | null,
  { changed, codeTools }: NewSettings,
): Promise<void> {
  const settings = parseSettings(text);
  const raw = asObject(text);
  const isNew = (setting: string): boolean => changed.includes(setting);
  const levels = allTenantLevels(settings.toolConfig);
  readBudget(settings, {});
  readRunsPerMinute(settings);
  if (isNew('tool_config')) await checkRules(query, levels, codeTools);
  // What cannot be read a run would pass over.
  const refuseUnread = (setting: string, read: unknown, reason: string): void => {
    if (isSet(raw[setting]) && read === undefined) throw invalid(setting, reason);
  };
  const own = new Map<string, () => void>([
    ['callback_hosts', () => checkHosts('callback_hosts', settings.callbackHosts)],
    ['mcp_allowed_hosts', () => checkHosts('mcp_allowed_hosts', settings.mcpAllowedHosts)],
    ['max_iterations', () => refuseUnread('max_iterations', settings.maxIterations, NOT_WHOLE)],
    ['session_days', () => refuseUnread('session_days', settings.sessionDays, NOT_WHOLE)],
    ['session_window_tokens', () => refuseUnread('session_window_tokens', settings.sessionWindowTokens, NOT_WHOLE)],
    ['default_tier', () => refuseUnread('default_tier', settings.defaultTier, 'it is no text')],
    [
      'timezone',
      () => refuseUnread('timezone', zoneOf(settings.timeZone), 'it is not a time zone such as Europe/Berlin'),
    ],
    ['customer_messages', () => checkMessages(raw.customer_messages)],
    ['tell_context', () => refuseUnread('tell_context', settings.tellContext, 'it is neither true nor false')],
  ]);
  for (const setting of changed) own.get(setting)?.();
  await checkTiers(query, [isNew('default_tier') && settings.defaultTier, isNew('max_tier') && settings.maxTier]);
}

export async function checkTiers(query: Query, given: readonly (string | false | undefined)[]): Promise<void> {
  const named = given.filter((tier) => typeof tier === 'string');
  if (named.length === 0) return;
  const rows = await query<TierModelRow>(LIST_TIERS);
  const tierRows = rows.map(({ code, name, model_id: modelId }) => ({ code, name: name ?? code, modelId }));
  for (const tier of named) findTier(mergeTiers(tierRows), tier);
}

/** Returns undefined for an unknown time zone. */
function zoneOf(zone: string | undefined): string | undefined {
  return zone !== undefined && zonedTime(zone, new Date()).isKnown ? zone : undefined;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function checkMessages(given: unknown): void {
  if (!isSet(given)) return;
  if (!isJsonObject(given)) throw invalid('customer_messages', 'it is not an object of texts');
  for (const [key, text] of Object.entries(given)) {
    if (!isMessageKey(key)) throw invalid('customer_messages', `"${key}" is neither an error code nor a status`);
    if (typeof text !== 'string' || text === '') throw invalid('customer_messages', `${key} is not a text`);
  }
}

function checkHosts(setting: string, given: unknown): void {
  if (!isSet(given)) return;
  if (!isTextList(given)) throw invalid(setting, 'it is no list of hosts');
  try {
    readAllowedHosts(given, setting);
  } catch (error) {
    throw invalid(setting, errorText(error));
  }
}

function invalid(setting: string, reason: string): RuntimeError {
  return new RuntimeError('SETTING_INVALID', { setting, reason });
}

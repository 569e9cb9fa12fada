import { readBudget, readRunsPerMinute } from '../../billing/budget';
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
import { checkRules } from '../tools/check-rules';

/**
 * Reads a tenant's settings as a run would, and everything in them that a run passes over or reads only when it needs it.
 * Throws SETTING_INVALID, POLICY_INVALID or TIER_UNKNOWN; RULE_UNMATCHED for new rules alone, since tools come and go.
 */
export async function checkSettings(query: Query, text: string | null, areRulesNew: boolean): Promise<void> {
  const settings = parseSettings(text);
  const raw = asObject(text);
  const levels = allTenantLevels(settings.toolConfig);
  if (areRulesNew) await checkRules(query, levels);
  readBudget(settings, {});
  readRunsPerMinute(settings);
  checkHosts('callback_hosts', settings.callbackHosts);
  checkHosts('mcp_allowed_hosts', settings.mcpAllowedHosts);
  if (isSet(raw.max_iterations) && settings.maxIterations === undefined) {
    throw invalid('max_iterations', 'it is not a whole number above 0');
  }
  if (isSet(raw.default_tier) && settings.defaultTier === undefined) throw invalid('default_tier', 'it is no text');
  const named = [settings.defaultTier, settings.maxTier].filter((tier) => tier !== undefined);
  if (named.length === 0) return;
  const rows = await query<TierModelRow>(LIST_TIERS);
  const tierRows = rows.map(({ code, name, model_id: modelId }) => ({ code, name: name ?? code, modelId }));
  for (const tier of named) findTier(mergeTiers(tierRows), tier);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function checkHosts(setting: string, given: unknown): void {
  if (!isSet(given)) return;
  const isList = Array.isArray(given) && given.every((host) => typeof host === 'string' && host !== '');
  if (!isList) throw invalid(setting, 'it is no list of hosts');
  try {
    readAllowedHosts(given as readonly string[], setting);
  } catch (error) {
    throw invalid(setting, errorText(error));
  }
}

function invalid(setting: string, reason: string): RuntimeError {
  return new RuntimeError('SETTING_INVALID', { setting, reason });
}

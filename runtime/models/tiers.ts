import { BUILT_IN_TIERS } from '../contracts/built-in-tiers';
import { TASK_DEFAULTS } from '../contracts/task-options';
import type { Tier } from '../contracts/tenant';

/** The tier used when neither the task nor the tenant names one. */
export const FALLBACK_TIER = TASK_DEFAULTS.agent_tier;

/** Built-in tiers, replaced and joined by the database's rows; lowest rank first. */
export function mergeTiers(rows: readonly Tier[]): readonly Tier[] {
  const byCode = new Map(BUILT_IN_TIERS.map((builtIn) => [builtIn.code, builtIn]));
  for (const row of rows) byCode.set(row.code, { ...row, rank: row.rank ?? byCode.get(row.code)?.rank });
  return [...byCode.values()].sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
}

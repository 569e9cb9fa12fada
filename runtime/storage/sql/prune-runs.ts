import type { Statement } from '../postgres';

/** Stored results, and the calls behind them, live for 30 days. */
export function pruneRunsStatement(): Statement {
  return { text: `DELETE FROM elo_agent_runs WHERE updated_at < now() - interval '30 days'`, values: [] };
}

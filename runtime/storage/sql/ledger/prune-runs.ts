import { type Statement, statement } from '../../statement';

/** Stored results, and the calls behind them, live for 30 days and until the month ends in which they may count as unbilled; windows of rates are over after one, those of tasks after thirty; the audit is kept as long as asked. */
export function pruneStatements(auditRetentionDays: number): readonly Statement[] {
  return [
    statement(`DELETE FROM elo_agent_runs WHERE updated_at < least(now() - interval '30 days',
        date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`),
    {
      text: `DELETE FROM elo_agent_rate_windows WHERE started_at < now() - greatest(2 * 86400, seconds) * interval '1 second'`,
      values: [],
    },
    {
      text: `DELETE FROM elo_tool_executions WHERE created_at < now() - $1::int * interval '1 day'`,
      values: [auditRetentionDays],
    },
  ];
}

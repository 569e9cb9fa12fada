import type { SingleCall, ToolExecution } from '../../contracts/ledger';
import type { Statement } from '../postgres';
import { executionJson } from './record-progress';

/** Takes one call off its limits, outside a run. */
export function takeCallStatement({ tenantId, taking }: SingleCall): Statement {
  const { code, tool, callsPerMinute, callsPerDay } = taking;
  return {
    text: 'SELECT elo_agent_take_call($1::uuid, $2, $3, $4::int, $5::int) AS reason',
    values: [tenantId, code ?? null, tool, callsPerMinute ?? null, callsPerDay ?? null],
  };
}

const AUDIT = `
INSERT INTO elo_tool_executions (
  tenant_id, task_id, run_id, step, tool_call_id, tool, user_id, arguments, decision, is_error, code, duration_ms
)
SELECT $1::uuid, $2, $3::uuid, given.step, given.tool_call_id, left(given.tool, 200), given.user_id, given.arguments,
  given.decision, given.is_error, left(given.code, 50), given.duration_ms
FROM jsonb_to_recordset($4::jsonb) AS given (
  step int, tool_call_id text, tool text, user_id text, arguments jsonb, decision text, is_error boolean, code text,
  duration_ms int
)
ON CONFLICT (tenant_id, run_id, tool_call_id) DO NOTHING`;

/** Writes the line of such a call. */
export function auditCallStatement({ tenantId, taskId, runId }: SingleCall, execution: ToolExecution): Statement {
  return { text: AUDIT, values: [tenantId, taskId, runId, executionJson([execution])] };
}

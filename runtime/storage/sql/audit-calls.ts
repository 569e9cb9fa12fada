import type { ToolExecution } from '../../contracts/ledger';
import { indexableId, storableJson } from './storable';

/** Writes lines of the audit. $1 to $3 are tenant, task and run; `lines` is the parameter with `executionJson`. */
export function auditCalls(lines: string): string {
  return `
  INSERT INTO elo_tool_executions (
    tenant_id, task_id, run_id, step, tool_call_id, tool, client_id, dialog_id, user_id, session_id, arguments, decision,
    is_error, code, duration_ms
  )
  SELECT $1::uuid, $2, $3::uuid, given.step, given.tool_call_id, left(given.tool, 200), given.client_id, given.dialog_id,
    given.user_id, given.session_id, given.arguments, given.decision, given.is_error, left(given.code, 50), given.duration_ms
  FROM jsonb_to_recordset(${lines}::jsonb) AS given (
    step int, tool_call_id text, tool text, client_id text, dialog_id text, user_id text, session_id text, arguments jsonb,
    decision text, is_error boolean, code text, duration_ms int
  )
  ON CONFLICT (tenant_id, run_id, tool_call_id) DO NOTHING`;
}

export function executionJson(executions: readonly ToolExecution[]): string {
  return executions.length === 0 ? '[]' : storableJson(executions.map(execution));
}

function execution(done: ToolExecution): Record<string, unknown> {
  return {
    step: done.step,
    tool_call_id: indexableId(done.toolCallId),
    tool: done.tool,
    client_id: done.clientId,
    dialog_id: done.dialogId,
    user_id: done.userId,
    session_id: done.sessionId,
    arguments: done.arguments,
    decision: done.decision,
    is_error: done.isError,
    code: done.code,
    duration_ms: done.durationMs,
  };
}

import type { ToolCallRecord } from '../../contracts/tool-call';
import { indexableId, storableJson } from './storable';

/** Writes lines of the audit. $1 to $3 are tenant, task and run; `lines` is the parameter with `auditJson`. */
export function auditCalls(lines: string): string {
  return `
  INSERT INTO elo_tool_executions (
    tenant_id, task_id, run_id, step, tool_call_id, tool, user_id, arguments, decision, is_error, code, duration_ms
  )
  SELECT $1::uuid, $2, $3::uuid, given.step, given.tool_call_id, left(given.tool, 200), given.user_id, given.arguments,
    given.decision, given.is_error, left(given.code, 50), given.duration_ms
  FROM jsonb_to_recordset(${lines}::jsonb) AS given (
    step int, tool_call_id text, tool text, user_id text, arguments jsonb, decision text, is_error boolean, code text,
    duration_ms int
  )
  ON CONFLICT (tenant_id, run_id, tool_call_id) DO NOTHING`;
}

export function auditJson(lines: readonly ToolCallRecord[], userId: string | undefined): string {
  return lines.length === 0 ? '[]' : storableJson(lines.map((line) => toRow(line, userId)));
}

function toRow(line: ToolCallRecord, userId: string | undefined): Record<string, unknown> {
  return {
    step: line.step,
    tool_call_id: indexableId(line.id),
    tool: line.tool,
    user_id: userId,
    arguments: line.arguments,
    decision: line.decision,
    is_error: line.outcome?.isError === true,
    code: line.outcome?.code,
    duration_ms: line.durationMs,
  };
}

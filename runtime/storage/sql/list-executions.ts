import type { Statement } from '../statement';

const LISTED = 1000;

/** The tool calls of a tenant, newest first; of one task where it is named. */
export function listExecutionsStatement(tenantId: string, taskId: string | undefined): Statement {
  return {
    text: `
SELECT created_at, task_id, run_id::text, step, tool, client_id, dialog_id, user_id, session_id, arguments, decision, decided_by, is_error, code, duration_ms
FROM elo_tool_executions
WHERE tenant_id = $1::uuid AND ($2::text IS NULL OR task_id = $2)
ORDER BY id DESC LIMIT ${LISTED}`,
    values: [tenantId, taskId ?? null],
  };
}

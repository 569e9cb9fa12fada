import type { SingleCall } from '../../contracts/ledger';
import type { ToolCallRecord } from '../../contracts/tool-call';
import type { Statement } from '../statement';
import { auditCalls, auditJson } from './audit-calls';

/** Takes one call off its limits, outside a run. */
export function takeCallStatement({ tenantId, taking }: SingleCall): Statement {
  const { code, tool, callsPerMinute, callsPerDay, ofAgent } = taking;
  return {
    tenantId,
    text: 'SELECT elo_agent_take_call($1::uuid, $2, $3, $4::int, $5::int, $6, $7::int, $8::int) AS reason',
    values: [
      ...[tenantId, code ?? null, tool, callsPerMinute ?? null, callsPerDay ?? null],
      ...[ofAgent?.agent ?? null, ofAgent?.callsPerMinute ?? null, ofAgent?.callsPerDay ?? null],
    ],
  };
}

const AUDIT = auditCalls('$4');

/** Writes the line of such a call. */
export function auditCallStatement({ tenantId, taskId, runId, userId }: SingleCall, line: ToolCallRecord): Statement {
  return { tenantId, text: AUDIT, values: [tenantId, taskId, runId, auditJson([line], userId)] };
}

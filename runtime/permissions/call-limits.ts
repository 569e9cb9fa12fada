import type { CallToTake } from '../contracts/ledger/ledger';
import type { TenantSnapshot } from '../contracts/tenant';
import type { Tool } from '../contracts/tools/tool';
import type { ErrorCode } from '../errors/codes';
import type { ErrorDetails } from '../errors/runtime-error';

/** The limits that a call counts towards. */
export function limitsOfCall(
  { toolCallId, tool }: { readonly toolCallId: string; readonly tool: Tool },
  { policyVersion }: TenantSnapshot,
): CallToTake {
  const { code, callsPerMinute, callsPerDay, ofAgent } = tool.policy ?? {};
  // Rows of a plugged-in store are in no catalogue that the ledger could look at.
  const known = policyVersion === undefined ? undefined : code;
  return { toolCallId, tool: tool.definition.name, code: known, callsPerMinute, callsPerDay, ofAgent };
}

const REASONS: Readonly<Record<string, string>> = {
  minute_limit_exceeded: 'its calls of this minute are used up (minute_limit_exceeded)',
  day_limit_exceeded: 'its calls of this day are used up (day_limit_exceeded)',
  daily_limit_exceeded: 'its calls of today are used up (daily_limit_exceeded)',
};

/** What the model is told when the ledger refuses a call. */
export function limitReached(
  tool: string,
  reason: string,
): { readonly code: ErrorCode; readonly details: ErrorDetails } {
  const text = REASONS[reason];
  if (text !== undefined) return { code: 'TOOL_LIMIT_REACHED', details: { tool, reason: text } };
  return { code: 'TOOL_PERMISSION_DENIED', details: { tool, reason: `the database says ${reason}` } };
}

import type { ToolCallRecord } from '../contracts/tool-call';
import { type Redact, redactJson } from '../util/redact';

/** Longer arguments are cut in the audit. */
const MAX_AUDITED_LENGTH = 4000;

/** A tool call as the audit keeps it: without secrets, without what it gave, and of bounded length. */
export function auditLine(call: ToolCallRecord, redact: Redact): ToolCallRecord {
  const clean = redactJson(call.arguments, redact);
  const text = JSON.stringify(clean);
  const isLong = text.length > MAX_AUDITED_LENGTH;
  return {
    ...call,
    arguments: isLong ? { clipped: text.slice(0, MAX_AUDITED_LENGTH) } : clean,
    outcome: call.outcome && { ...call.outcome, value: null },
  };
}

import type { Identity, ToolExecution } from '../contracts/ledger';
import type { EndedToolCall } from '../contracts/tool-call';
import { type Redact, redactJson } from '../util/redact';

/** Longer arguments are cut in the audit. */
const MAX_AUDITED_LENGTH = 4000;

/** A tool call as the audit keeps it: without secrets, and not without end. */
export function toExecution(
  {
    step,
    toolCallId,
    tool,
    input,
    decision,
    isError,
    code,
    durationMs,
  }: Omit<EndedToolCall, 'outcome' | 'isOnce' | 'wasSent'>,
  { redact, identity }: { readonly redact: Redact; readonly identity: Identity },
): ToolExecution {
  const clean = redactJson(input, redact);
  const text = JSON.stringify(clean);
  const isLong = text.length > MAX_AUDITED_LENGTH;
  const shown = isLong ? { clipped: text.slice(0, MAX_AUDITED_LENGTH) } : clean;
  return { step, toolCallId, tool, arguments: shown, decision, isError, code, durationMs, ...identity };
}

import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { JsonValue } from '../util/json';
import { type Redact, redactJson } from '../util/redaction/redact';

/** Longer arguments are cut in the audit. */
const MAX_AUDITED_LENGTH = 4000;
/**
 * No secret is longer. So much is read beyond what is shown, and so much left out of what was read, since it may be cut
 * in half.
 */
const MAX_SECRET_LENGTH = 16_000;

/** A tool call as the audit keeps it: without secrets, without what it gave, and of bounded length. */
export function auditLine(call: ToolCallRecord, redact: Redact): ToolCallRecord {
  return {
    ...call,
    arguments: shown(call.arguments, redact),
    outcome: call.outcome && { isError: call.outcome.isError, code: call.outcome.code, value: null },
  };
}

function shown(given: JsonValue, redact: Redact): JsonValue {
  const text = JSON.stringify(given);
  if (text.length > MAX_AUDITED_LENGTH + MAX_SECRET_LENGTH) return { clipped: startOf(text, redact) };
  const clean = redactJson(given, redact);
  const cleanText = JSON.stringify(clean);
  return cleanText.length > MAX_AUDITED_LENGTH ? { clipped: cleanText.slice(0, MAX_AUDITED_LENGTH) } : clean;
}

/** The start of a text that may be megabytes long: nothing more of it is gone through. */
function startOf(text: string, redact: Redact): string {
  const clean = redact(text.slice(0, MAX_AUDITED_LENGTH + MAX_SECRET_LENGTH));
  return clean.slice(0, Math.max(0, Math.min(MAX_AUDITED_LENGTH, clean.length - MAX_SECRET_LENGTH)));
}

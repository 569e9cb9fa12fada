import type { ToolOutput } from '../contracts/tools/tool-shapes';
import type { TransportReply } from '../contracts/tools/tool-transport';
import type { ErrorCode } from '../errors/codes';
import { describeError, type ErrorDetails } from '../errors/runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { isJsonObject, type JsonValue, tryParseJson } from '../util/json';
import { type Redact, redactJson } from '../util/redaction/redact';
import { failureReason } from './failure-reason';

/** So much of a failed tool's answer is shown to the model. */
const MAX_ERROR_TEXT = 2000;

interface OutputContext {
  readonly tool: string;
  readonly redact: Redact;
  readonly limitBytes: number;
}

/**
 * A server's answer as JSON for the model. Text that is no JSON, and what was cut, come as `{warning, text}`,
 * so that the model knows what it reads. `success: false` is a failure, whatever the HTTP status was.
 */
export function readOutput(reply: TransportReply, context: OutputContext): ToolOutput {
  const { tool, limitBytes } = context;
  const text = context.redact(reply.text);
  if (reply.failure !== undefined) {
    const body = shorten(text);
    const { code, status, when } = reply.failure;
    return toolFailure(code, { tool, status, when, body, reason: body });
  }
  if (reply.warning !== undefined) return warned(reply.warning, text, {});
  if (reply.isCut) return warned('TOOL_OUTPUT_TRUNCATED', text, { limitBytes });
  if (text.trim() === '') return { isError: false, value: null };
  const parsed = tryParseJson(reply.text);
  if (!parsed.ok && reply.isPlainText === true) return { isError: false, value: text };
  if (!parsed.ok) return warned('TOOL_OUTPUT_NOT_JSON', text, {});
  // Escapes may hide a secret from a look at the raw text; without them, clean text is a clean value.
  const isClean = text === reply.text && !text.includes('\\');
  return readValue(isClean ? parsed.value : redactJson(parsed.value, context.redact), tool);
}

function readValue(value: JsonValue, tool: string): ToolOutput {
  if (isJsonObject(value) && value.success === false) {
    return toolFailure('TOOL_FAILED', { tool, reason: shorten(failureReason(value)) });
  }
  return { isError: false, value };
}

/** Shortens what is quoted of a failure. */
export function shorten(text: string): string {
  return text.length > MAX_ERROR_TEXT ? `${text.slice(0, MAX_ERROR_TEXT)}…` : text;
}

function warned(code: ErrorCode, text: string, details: ErrorDetails): ToolOutput {
  const { message } = describeError(code, details);
  return { isError: false, code, value: { warning: { code, message }, text } };
}

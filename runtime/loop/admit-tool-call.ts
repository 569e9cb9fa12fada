import type { ToolCallMessage } from '../contracts/message';
import { type FinishReason, isWhole } from '../contracts/model';
import type { CheckedFor, ParsedInput, Tool, Toolset } from '../contracts/tools/tool';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ErrorCode } from '../errors/codes';
import type { ErrorDetails, ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import type { JsonObject, JsonValue } from '../util/json';
import type { Redact } from '../util/redaction/redact';
import type { Variables } from '../util/variables/fill';
import { readArguments } from './parse-arguments';
import type { Repeated } from './repeated-calls';

/** A tool call that may run, or the reason why it must not. */
export type AdmittedToolCall = {
  readonly call: ToolCallMessage;
  readonly input: JsonValue;
  /** Warnings about its arguments, for the result of the run. */
  readonly warnings?: readonly ErrorSummary[];
} &
  /** `isTaken`: it is gone on with, and was taken off its limits before. */
  (
    | { readonly kind: 'run'; readonly tool: Tool; readonly value: JsonObject; readonly isTaken?: true }
    | Repeated
    /** An earlier run made it, and its outcome is on record. */
    | { readonly kind: 'known'; readonly record: ToolCallRecord }
    | { readonly kind: 'refused'; readonly code: ErrorCode; readonly details: ErrorDetails }
  );

export type RunnableCall = Extract<AdmittedToolCall, { kind: 'run' }>;

/** The most tool names that are listed for a model that asked for one that does not exist. */
const LISTED_NAMES = 30;

/** Decides on one call without side effects: known tool, whole arguments, valid arguments, within the step's limit. */
export async function admitToolCall(
  call: ToolCallMessage,
  context: {
    readonly toolset: Toolset;
    readonly finishReason: FinishReason;
    readonly index: number;
    readonly limit: number;
    readonly redact?: Redact;
    readonly variables: Variables;
    readonly isFilled?: boolean;
    readonly checkedFor: CheckedFor & { readonly signal: AbortSignal };
  },
): Promise<AdmittedToolCall> {
  const tool = call.function.name;
  const parsed = readArguments(call, context);
  const input: JsonValue = parsed.ok ? parsed.value : call.function.arguments;
  const refuse = (code: ErrorCode, details: ErrorDetails): AdmittedToolCall => ({
    kind: 'refused',
    call,
    input,
    warnings: parsed.ok ? parsed.warnings : undefined,
    code,
    details: { tool, ...details },
  });

  if (context.index >= context.limit) return refuse('TOOL_CALL_LIMIT', { limit: context.limit });
  const known = context.toolset.find(tool);
  if (known === undefined) return refuse('TOOL_NOT_FOUND', { available: listNames(context.toolset) });
  if (context.finishReason === 'length') return refuse('TOOL_ARGUMENTS_TRUNCATED', {});
  if (!isWhole(context.finishReason)) return refuse('TOOL_CALL_INCOMPLETE', {});
  if (!parsed.ok) return refuse('TOOL_INVALID_ARGS', { issues: parsed.issues });
  const checked = await checkArguments(known, parsed.value, context.checkedFor);
  if (!checked.ok)
    return refuse(checked.code ?? 'TOOL_INVALID_ARGS', { issues: checked.issues, reason: checked.issues });
  return { kind: 'run', call, input: checked.value, tool: known, value: checked.value, warnings: parsed.warnings };
}

/** A check that throws has not passed the arguments. Rejects only when the signal aborts. */
export async function checkArguments(
  tool: Tool,
  value: JsonObject,
  checkedFor: CheckedFor & { readonly signal: AbortSignal },
): Promise<ParsedInput> {
  const { signal } = checkedFor;
  try {
    const parsed = tool.parseInput(value, checkedFor);
    return 'ok' in parsed ? parsed : await untilAborted(parsed, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, issues: errorText(error) };
  }
}

function listNames(toolset: Toolset): string {
  const names = toolset.definitions.map(({ name }) => name);
  if (names.length === 0) return 'none';
  const shown = names.slice(0, LISTED_NAMES).join(', ');
  return names.length > LISTED_NAMES ? `${shown} and ${names.length - LISTED_NAMES} more` : shown;
}

import type { StepRecord } from '../contracts/ledger/journal';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { ERROR_CODES, isErrorCode } from '../errors/codes';
import type { ErrorSummary } from '../errors/runtime-error';
import { isJsonObject } from '../util/json';

const MAX_SHOWN = 300;
/** The error table's hint is for the model. */
const HINT =
  'Try the tool alone: Tool: Execute of the Universal AI Agent Admin node, or `universal-ai-agent tool execute`.';

/**
 * A warning for each tool that failed, since a model often answers as if nothing had happened. What the rules refused and
 * what the model got wrong is no failure of the tool; it stands in tool_calls only.
 */
export function failedTools(steps: readonly StepRecord[]): readonly ErrorSummary[] {
  const calls = steps.flatMap(({ toolCalls }) => toolCalls);
  const failed = calls.filter(isFailure);
  const tools = new Set(failed.map((call) => call.tool));
  return [...tools].map((tool) => {
    const isOfTool = (call: ToolCallRecord): boolean => call.tool === tool;
    const reasons = failed.filter(isOfTool);
    const counts = `${reasons.length} of ${calls.filter(isOfTool).length} calls of ${tool} failed`;
    return { code: 'TOOL_FAILED', message: `${counts}: ${reasonOf(reasons.at(-1))}`, hint: HINT };
  });
}

/** A plugged-in tool may fail without a code. */
function isFailure({ outcome }: ToolCallRecord): boolean {
  if (outcome?.isError !== true) return false;
  const { code } = outcome;
  return code === undefined || !isErrorCode(code) || ERROR_CODES[code].category === 'upstream';
}

/** The error that came last, in one line; it was redacted when it came. */
function reasonOf(call: ToolCallRecord | undefined): string {
  const error = call?.outcome?.value;
  const message = isJsonObject(error) ? error.message : error;
  const text = (typeof message === 'string' ? message : JSON.stringify(error ?? null)).replace(/\s+/g, ' ');
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

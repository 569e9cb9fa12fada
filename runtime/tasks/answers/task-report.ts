import type { QueueTask, TaskAnswer, TaskReport } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import { describeError, type RuntimeError } from '../../errors/runtime-error';
import { parseExactly } from '../../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

/** What producers put in and want back, to sort the answers by. */
const ECHOED = ['code', 'level', 'domain_code', 'vertical_code'] as const;

/** The words that every report begins with. */
function heading({ task_id, trace_id, meta }: QueueTask): Pick<TaskReport, 'task_id' | 'trace_id'> & JsonObject {
  const echoed = ECHOED.flatMap((name): [string, JsonValue][] => {
    const value = Object.hasOwn(meta, name) ? meta[name] : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return { task_id, trace_id, ...Object.fromEntries(echoed) };
}

/** The report of a task that was done. A model's task keeps the ids of its run, which an approval may have gone on with. */
export function successReport(task: QueueTask, answer: TaskAnswer): TaskReport {
  return { ...heading(task), ...answer };
}

/** The report of a task that failed for good; without a run it took 0 milliseconds. */
export function failureReport(task: QueueTask, error: RuntimeError): TaskReport {
  const { code, message, hint } = error;
  const run = isJsonObject(error.result) ? (error.result as unknown as Partial<AgentResult>) : {};
  return {
    ...heading(task),
    result: null,
    model_used: run.model_used ?? null,
    tokens_used: run.tokens?.total ?? 0,
    duration_ms: run.duration_ms ?? 0,
    error: message,
    error_code: code,
    hint,
    ...partOfRun(run),
  };
}

/** What was done and spent before the failure. */
function partOfRun(run: Partial<AgentResult>): JsonObject {
  const { status, run_id, agent_tier, tokens, cost_usd, saved_usd, usage_estimated, iterations, result } = run;
  if (run_id === undefined) return {};
  const spent = { tokens, usage_estimated, cost_usd, saved_usd };
  const part = { status, run_id, agent_tier, ...spent, iterations, tool_calls: result?.tool_calls };
  return parseExactly(JSON.stringify(part)) as JsonObject;
}

/** The report with one more warning. */
export function withWarning(report: TaskReport, code: Parameters<typeof describeError>[0]): TaskReport {
  const before = Array.isArray(report.warnings) ? (report.warnings as readonly JsonValue[]) : [];
  return { ...report, warnings: [...before, { ...describeError(code) }] };
}

import type { LoopOutcome, StepRecord } from '../contracts/outcome';
import type { AgentResult, RunStatus, ToolCallReport, TraceEntry } from '../contracts/result';
import type { ModelCallRecord, RunTotals } from '../contracts/usage';
import type { ErrorSummary } from '../errors/runtime-error';
import type { ReadyTask } from '../tasks/read-task';
import type { JsonValue } from '../util/json';
import { type Redact, redactJson } from '../util/redact';

interface ResultParts {
  readonly task: ReadyTask;
  readonly runId: string;
  readonly tier: string;
  readonly outcome: LoopOutcome;
  readonly totals: RunTotals;
  readonly findCall: (callNo: number) => ModelCallRecord | undefined;
  readonly durationMs: number;
  readonly warnings: readonly ErrorSummary[];
  readonly variables: ReadonlyMap<string, JsonValue>;
  /** Blanks the secrets that the run knows, in what a model wrote. */
  readonly redact: Redact;
}

/** What a run gives back, also when it failed: the work and the usage so far. */
export function buildResult(parts: ResultParts): AgentResult {
  const { task, outcome, totals } = parts;
  const { usage } = totals;
  return {
    task_id: task.task_id,
    trace_id: task.trace_id,
    run_id: parts.runId,
    status: outcome.status,
    result: {
      text: parts.redact(outcome.text),
      tool_calls: outcome.steps.flatMap((step) => step.toolCalls.map(({ report }) => clean(report, parts.redact))),
    },
    ...(outcome.structured === undefined ? {} : { structured_output: redactJson(outcome.structured, parts.redact) }),
    model_used: totals.modelBilled,
    agent_tier: parts.tier,
    iterations: outcome.iterations,
    tokens: {
      prompt: usage.promptTokens,
      completion: usage.completionTokens,
      total: usage.promptTokens + usage.completionTokens,
      cached: usage.cachedTokens,
      cache_written: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      reasoning: usage.reasoningTokens,
    },
    cost_usd: totals.costUsd,
    ...(totals.savedUsd === undefined ? {} : { saved_usd: totals.savedUsd }),
    ...(totals.providerCostUsd === undefined ? {} : { provider_cost_usd: totals.providerCostUsd }),
    duration_ms: parts.durationMs,
    warnings: parts.warnings.map(({ code, message }) => ({ code, message })),
    ...(outcome.truncated ? { truncated: true } : {}),
    ...(parts.variables.size === 0 ? {} : { variables: Object.fromEntries(parts.variables) }),
    ...(outcome.awaiting === undefined
      ? {}
      : { awaiting: { ...outcome.awaiting, arguments: redactJson(outcome.awaiting.arguments, parts.redact) } }),
    ...(task.config.include_trace === true ? { trace: buildTrace(parts) } : {}),
  };
}

/** What comes from tools was blanked when it came. */
function clean(report: ToolCallReport, redact: Redact): ToolCallReport {
  return { ...report, arguments: redactJson(report.arguments, redact) };
}

/** The result of a run that was refused before its first model call. */
export function resultOfNothing(refused: {
  readonly task: ReadyTask;
  readonly runId: string;
  readonly tier: string;
  readonly model: string;
  readonly status: RunStatus;
}): AgentResult {
  const { task, runId, tier, model, status } = refused;
  return {
    task_id: task.task_id,
    trace_id: task.trace_id,
    run_id: runId,
    status,
    result: { text: '', tool_calls: [] },
    model_used: model,
    agent_tier: tier,
    iterations: 0,
    tokens: { prompt: 0, completion: 0, total: 0, cached: 0, cache_written: 0, reasoning: 0 },
    cost_usd: '0.00000000',
    duration_ms: 0,
    warnings: [],
  };
}

/** One entry a model call and one a tool call, in the order of events. */
function buildTrace({ outcome, findCall }: ResultParts): readonly TraceEntry[] {
  return outcome.steps.flatMap((step) => [
    ...modelEntries(step, findCall(step.callNo)),
    ...step.toolCalls.map(({ report, code }): TraceEntry => ({
      kind: 'tool',
      step: step.callNo,
      tool: report.tool,
      ...(code === undefined ? {} : { code }),
      duration_ms: report.duration_ms,
    })),
  ]);
}

/** A call whose usage is unknown has no figures to show. */
function modelEntries(step: StepRecord, call: ModelCallRecord | undefined): readonly TraceEntry[] {
  if (call === undefined) return [];
  const entry: TraceEntry = {
    kind: 'model',
    step: step.callNo,
    model: call.modelReturned ?? call.modelRequested,
    finish_reason: step.finishReason,
    prompt_tokens: call.usage.promptTokens,
    completion_tokens: call.usage.completionTokens,
    cost_usd: call.costUsd,
    duration_ms: step.durationMs,
  };
  return [entry];
}

import type { LoopOutcome, StepRecord } from '../contracts/outcome';
import type { AgentResult, TraceEntry } from '../contracts/result';
import type { ModelCallRecord, RunTotals } from '../contracts/usage';
import type { ErrorSummary } from '../errors/runtime-error';
import type { ReadyTask } from './read-task';

export interface ResultParts {
  readonly task: ReadyTask;
  readonly runId: string;
  readonly tier: string;
  readonly outcome: LoopOutcome;
  readonly totals: RunTotals;
  readonly findCall: (callNo: number) => ModelCallRecord | undefined;
  readonly durationMs: number;
  readonly warnings: readonly ErrorSummary[];
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
      text: outcome.text,
      tool_calls: outcome.steps.flatMap((step) => step.toolCalls.map((call) => call.report)),
    },
    model_used: totals.modelBilled,
    agent_tier: parts.tier,
    iterations: outcome.iterations,
    tokens: {
      prompt: usage.promptTokens,
      completion: usage.completionTokens,
      total: usage.promptTokens + usage.completionTokens,
      cached: usage.cachedTokens,
      reasoning: usage.reasoningTokens,
    },
    cost_usd: totals.costUsd,
    ...(totals.providerCostUsd === undefined ? {} : { provider_cost_usd: totals.providerCostUsd }),
    duration_ms: parts.durationMs,
    warnings: parts.warnings.map(({ code, message }) => ({ code, message })),
    ...(outcome.truncated ? { truncated: true } : {}),
    ...(task.config.include_trace === true ? { trace: buildTrace(parts) } : {}),
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

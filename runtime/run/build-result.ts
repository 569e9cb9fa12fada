import { NO_USAGE } from '../billing/charge-reply';
import { reportTokens } from '../billing/report-tokens';
import type { UsageMeter } from '../billing/usage-meter';
import type { StepRecord } from '../contracts/ledger/journal';
import type { ModelCallRecord } from '../contracts/ledger/usage';
import type { LoopOutcome } from '../contracts/outcome';
import type { AgentResult, PlanReport, RunStatus, ToolCallReport, TraceEntry } from '../contracts/result';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { distinct } from '../errors/distinct';
import type { ErrorSummary } from '../errors/runtime-error';
import type { ReadyTask } from '../tasks/read-task';
import { elapsedMs } from '../util/clock';
import { mapExactIntegers } from '../util/exact-integer';
import type { JsonObject, JsonValue } from '../util/json';
import { type Redact, redactJson } from '../util/redaction/redact';
import { failedTools } from './failed-tools';
import type { ClaimedRun, RunPlan } from './run';

/** What a run gives back, also when it failed: the work and the usage so far. */
export function buildResult(
  run: ClaimedRun,
  outcome: LoopOutcome,
  { meter, plan: made }: { readonly meter: UsageMeter; readonly plan?: PlanReport },
): AgentResult {
  const { request, plan, variables, redact } = run;
  const { steps, structured } = outcome;
  const { usage, usageEstimated, modelBilled, costUsd, savedUsd, providerCostUsd } = meter.totals();
  const warnings = [
    ...[...plan.warnings, ...meter.warnings(), ...(outcome.warnings ?? [])],
    ...[...warningsOfTools(steps), ...failedTools(steps)],
  ];
  return {
    task_id: request.task_id,
    trace_id: request.trace_id,
    run_id: run.key.runId,
    status: outcome.status,
    result: {
      text: redact(outcome.text),
      tool_calls: steps.flatMap((step) => step.toolCalls.map((call) => toReport(call, redact))),
    },
    ...(structured === undefined ? {} : { structured_output: readable(structured, redact) }),
    ...planReport(made, redact),
    model_used: modelBilled,
    agent_tier: plan.selected.tier.code,
    ...partiesOf(plan),
    iterations: outcome.iterations,
    tokens: reportTokens(usage),
    ...(usageEstimated === true ? { usage_estimated: true } : {}),
    cost_usd: costUsd,
    ...(savedUsd === undefined ? {} : { saved_usd: savedUsd }),
    ...(providerCostUsd === undefined ? {} : { provider_cost_usd: providerCostUsd }),
    duration_ms: elapsedMs(run.startedAt),
    warnings: distinct(warnings).map(({ code, message, hint }) => ({ code, message, hint })),
    ...(outcome.truncated ? { truncated: true } : {}),
    ...(variables.size === 0 ? {} : { variables: readable(Object.fromEntries(variables), redact) as JsonObject }),
    ...openEnd(outcome, redact),
    ...(plan.config.include_trace === true ? { trace: buildTrace(steps, meter) } : {}),
  };
}

/** The end of a run that another run of its task continues. */
function openEnd(
  { isPaused, awaiting }: LoopOutcome,
  redact: Redact,
): Pick<AgentResult, 'requires_followup' | 'awaiting'> {
  if (isPaused === true) return { requires_followup: true };
  return awaiting === undefined ? {} : { awaiting: { ...awaiting, arguments: readable(awaiting.arguments, redact) } };
}

function warningsOfTools(steps: readonly StepRecord[]): readonly ErrorSummary[] {
  return steps.flatMap(({ toolCalls }) => toolCalls.flatMap(({ outcome }) => outcome?.warnings ?? []));
}

function planReport(plan: PlanReport | undefined, redact: Redact): Pick<AgentResult, 'plan'> {
  return plan === undefined ? {} : { plan: readable(plan as unknown as JsonValue, redact) as unknown as PlanReport };
}

/** The agent and the conversation of a run. */
function partiesOf({ agent, session }: RunPlan): Pick<AgentResult, 'agent' | 'session_id'> {
  const talk = session === undefined ? {} : { session_id: session.sessionId };
  if (agent === undefined) return talk;
  const { name, source, version } = agent;
  return { agent: { name, source, ...(version === undefined ? {} : { version }) }, ...talk };
}

/** The value as callers are shown it. */
export function readable(value: JsonValue, redact: Redact): JsonValue {
  return withText(redactJson(value, redact));
}

/** Writes integers beyond 2^53 as text, since callers read results as numbers. */
function withText<T extends JsonValue>(value: T): T {
  return mapExactIntegers(value, String) as T;
}

/** What came from tools was blanked when it came. */
function toReport({ tool, arguments: input, durationMs, outcome }: ToolCallRecord, redact: Redact): ToolCallReport {
  const { isError, value } = outcome ?? { isError: false, value: null };
  return {
    tool,
    arguments: readable(input, redact),
    ...(isError ? { error: withText(value) } : { result: withText(value) }),
    duration_ms: durationMs,
  };
}

/** The result of a run that was refused before its first model call. */
export function resultOfNothing(refused: {
  readonly request: ReadyTask;
  readonly runId: string;
  readonly tier: string;
  readonly model: string;
  readonly status: RunStatus;
}): AgentResult {
  const { request, runId, tier, model, status } = refused;
  return {
    task_id: request.task_id,
    trace_id: request.trace_id,
    run_id: runId,
    status,
    result: { text: '', tool_calls: [] },
    model_used: model,
    agent_tier: tier,
    iterations: 0,
    tokens: reportTokens(NO_USAGE),
    cost_usd: '0.00000000',
    duration_ms: 0,
    warnings: [],
  };
}

/** One entry a model call and one a tool call, in the order of events. */
function buildTrace(steps: readonly StepRecord[], meter: UsageMeter): readonly TraceEntry[] {
  return steps.flatMap((one) => [
    ...modelEntries(one, meter.find(one.step)),
    ...one.toolCalls.map(({ step, tool, outcome, durationMs, runs }): TraceEntry => ({
      kind: 'tool',
      step,
      tool,
      ...(outcome?.code === undefined ? {} : { code: outcome.code }),
      duration_ms: durationMs,
      ...(runs && { runs }),
    })),
  ]);
}

/** A call whose usage is unknown has no figures to show. */
function modelEntries(
  { step, finishReason, durationMs }: StepRecord,
  call: ModelCallRecord | undefined,
): readonly TraceEntry[] {
  if (call === undefined) return [];
  const entry: TraceEntry = {
    kind: 'model',
    step,
    ...purposeOf(call),
    model: call.modelReturned ?? call.modelRequested,
    finish_reason: finishReason,
    prompt_tokens: call.usage.promptTokens,
    completion_tokens: call.usage.completionTokens,
    ...(call.usageEstimated === true ? { usage_estimated: true } : {}),
    cost_usd: call.costUsd,
    duration_ms: durationMs,
  };
  return [entry];
}

function purposeOf({ purpose }: ModelCallRecord): Pick<Extract<TraceEntry, { kind: 'model' }>, 'purpose'> {
  return purpose === 'plan' || purpose === 'supervise' ? { purpose } : {};
}

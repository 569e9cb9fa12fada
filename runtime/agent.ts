import { claimRun, requestDigest } from './billing/claim-run';
import { startRunRecord, type RunRecord } from './billing/run-record';
import { createUsageMeter, type UsageMeter } from './billing/usage-meter';
import { DEFAULTS } from './config';
import type { OnEvent } from './contracts/event';
import type { LedgerStore, RunKey } from './contracts/ledger';
import type { Model } from './contracts/model';
import type { AgentResult } from './contracts/result';
import type { TenantSnapshot, TenantStore } from './contracts/tenant';
import type { EgressFilter, Toolset } from './contracts/tool';
import { RuntimeError, type ErrorSummary } from './errors/runtime-error';
import { toRuntimeError } from './errors/to-runtime-error';
import type { EndedModelCall, LoopSettings } from './loop/loop-contract';
import { runLoop } from './loop/run-loop';
import { openTranscript } from './loop/transcript';
import type { McpServerInput } from './mcp/read-server';
import { normalizeModelId, selectModel, type SelectedModel } from './models/select-model';
import { BUILT_IN_TIERS } from './models/tiers';
import type { SelectTools } from './select-tools';
import { buildResult } from './tasks/build-result';
import { callbackWarnings, readTask, type ReadyTask } from './tasks/read-task';
import { resolveLimits } from './tenants/resolve-settings';
import { startDeadline, type Deadline } from './util/abort';
import { elapsedMs, monotonicMs, newId } from './util/clock';
import type { JsonValue } from './util/json';

/** The adapters that one run works with. */
export interface AgentParts {
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  readonly model: Model;
  readonly selectTools: SelectTools;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: OnEvent;
  /** Runs even if the task was done before: a manual test in the editor. */
  readonly fresh?: boolean;
  /** MCP servers beside those of the tenant. Their addresses and credentials are the operator's. */
  readonly mcpServers?: readonly McpServerInput[];
  /** The host's own rules for outgoing requests, asked beside ours for addresses that a model wrote. */
  readonly egress?: EgressFilter;
}

/**
 * One run of a task, top to bottom: read the task, load the tenant, decide on model and tools, claim the task,
 * loop, settle the bill. Rejects with a RuntimeError; once the loop had begun, its `result` holds what was done and spent.
 */
export async function runAgent(parts: AgentParts, input: unknown, options: RunOptions = {}): Promise<AgentResult> {
  const startedAt = monotonicMs();
  const task = readTask(input);
  const timeoutSeconds = task.config.timeout_seconds ?? DEFAULTS.timeoutSeconds;
  const deadline = startDeadline(timeoutSeconds * 1000, options.signal);
  const stopError = (): RuntimeError | undefined => describeStop(deadline, timeoutSeconds);
  try {
    const snapshot = await parts.tenants.load({ tenantId: task.meta.tenant_id, modelIds: candidateModels(task) });
    const plan = await planRun({ parts, task, snapshot, servers: options.mcpServers ?? [], signal: deadline.signal });
    const key: RunKey = { tenantId: task.meta.tenant_id, taskId: task.task_id, runId: newId() };
    const claim = await claimTask({ parts, task, plan, key, deadline, fresh: options.fresh === true });
    if (claim.kind === 'done') return { ...claim.result, replayed: true };
    const emit = safely(options.onEvent);
    const { egress } = options;
    return await runClaimed({ parts, task, plan, key, deadline, stopError, emit, startedAt, egress });
  } catch (error) {
    const isStop = error === deadline.signal.reason;
    throw (isStop ? stopError() : undefined) ?? toRuntimeError(error);
  } finally {
    deadline.dispose();
  }
}

/** Which model, which limits, which tools: decided before anything is claimed, called or spent. */
interface RunPlan {
  readonly selected: SelectedModel;
  readonly toolset: Toolset;
  readonly settings: LoopSettings;
  readonly snapshot: TenantSnapshot;
  readonly warnings: readonly ErrorSummary[];
}

async function planRun(request: {
  readonly parts: AgentParts;
  readonly task: ReadyTask;
  readonly snapshot: TenantSnapshot;
  readonly servers: readonly McpServerInput[];
  readonly signal: AbortSignal;
}): Promise<RunPlan> {
  const { parts, task, snapshot, servers, signal } = request;
  const { config } = task;
  const { tenant, tiers, prices } = snapshot;
  if (!tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId: tenant.id });
  const selected = selectModel({
    tier: config.agent_tier,
    modelOverride: config.model_override,
    settings: tenant.settings,
    tierRows: tiers,
    prices,
  });
  const { limits, warnings: limitWarnings } = resolveLimits({
    config,
    settings: tenant.settings,
    tier: selected.tier,
    defaults: DEFAULTS,
  });
  const tools = await parts.selectTools({
    snapshot,
    tier: selected.tier.code,
    allowList: config.tools,
    servers,
    signal,
  });
  return {
    selected,
    snapshot,
    toolset: tools.toolset,
    settings: loopSettings(task, selected.modelId, limits),
    warnings: [...limitWarnings, ...tools.warnings, ...callbackWarnings(task)],
  };
}

function loopSettings(
  { config }: ReadyTask,
  modelId: string,
  limits: ReturnType<typeof resolveLimits>['limits'],
): LoopSettings {
  return {
    modelId,
    ...limits,
    onMaxIterations: config.on_max_iterations ?? DEFAULTS.onMaxIterations,
    toolExecution: config.tool_execution ?? DEFAULTS.toolExecution,
    toolChoice: config.tool_choice ?? DEFAULTS.toolChoice,
    modelTimeoutMs: DEFAULTS.modelTimeoutMs,
    maxParallelToolCalls: DEFAULTS.maxParallelToolCalls,
    maxToolCallsPerStep: DEFAULTS.maxToolCallsPerStep,
    maxErrorSteps: DEFAULTS.maxErrorSteps,
  };
}

/** The models whose prices may be needed, beside those of the tenant's tiers. */
function candidateModels({ config }: ReadyTask): readonly string[] {
  const builtIn = BUILT_IN_TIERS.map((tier) => tier.modelId);
  return config.model_override === undefined ? builtIn : [...builtIn, normalizeModelId(config.model_override)];
}

async function claimTask(request: {
  readonly parts: AgentParts;
  readonly task: ReadyTask;
  readonly plan: RunPlan;
  readonly key: RunKey;
  readonly deadline: Deadline;
  readonly fresh: boolean;
}): ReturnType<typeof claimRun> {
  const { parts, task, plan, key, deadline, fresh } = request;
  const claim = {
    ...key,
    traceId: task.trace_id,
    digest: requestDigest(task),
    fresh,
    leaseMs: DEFAULTS.leaseMs,
    modelRequested: plan.selected.modelId,
  };
  return claimRun(parts.ledger, claim, deadline.signal).catch((error: unknown) => {
    throw deadline.cause() === 'cancelled' ? new RuntimeError('RUN_CANCELLED') : error;
  });
}

interface ClaimedRun {
  readonly parts: AgentParts;
  readonly task: ReadyTask;
  readonly plan: RunPlan;
  readonly key: RunKey;
  readonly deadline: Deadline;
  readonly stopError: () => RuntimeError | undefined;
  readonly emit: OnEvent;
  readonly startedAt: number;
  readonly egress?: EgressFilter;
}

async function runClaimed(run: ClaimedRun): Promise<AgentResult> {
  const { parts, task, plan, key, emit } = run;
  const modelId = plan.selected.modelId;
  const meter = createUsageMeter({ modelId, prices: plan.snapshot.prices });
  const record = openRecord(run);
  const variables = new Map<string, JsonValue>();
  emit({
    type: 'run-start',
    runId: key.runId,
    taskId: key.taskId,
    model: modelId,
    tools: plan.toolset.definitions.length,
  });

  const outcome = await runLoop({
    model: parts.model,
    toolset: plan.toolset,
    settings: plan.settings,
    messages: openTranscript({
      systemPrompt: task.config.system_prompt,
      message: task.config.message,
      context: task.config.context,
      singleTool: plan.settings.toolExecution === 'single',
    }),
    meta: { ...task.meta, task_id: task.task_id, trace_id: task.trace_id, agent: task.config.agent },
    variables,
    egress: run.egress,
    signal: run.deadline.signal,
    stopError: run.stopError,
    onModelCallEnd: (call) => recordCall(call, meter, record),
    emit,
  });

  const result = buildResult({
    task,
    runId: key.runId,
    tier: plan.selected.tier.code,
    outcome,
    totals: meter.totals(),
    findCall: meter.find,
    durationMs: elapsedMs(run.startedAt),
    warnings: [...plan.warnings, ...meter.warnings()],
  });
  const { settled, error } = await settle(record, result, outcome.error);
  emit({ type: 'run-end', status: settled.status, costUsd: settled.cost_usd });
  if (error === undefined) return settled;
  error.result = settled;
  throw error;
}

function openRecord({ parts, task, plan, key }: ClaimedRun): RunRecord {
  const isBilled = plan.selected.isBilled && task.config.record_usage !== false;
  const modelRequested = plan.selected.modelId;
  return startRunRecord({
    ledger: parts.ledger,
    key,
    modelRequested,
    bill: isBilled
      ? { traceId: task.trace_id, tier: plan.selected.tier.code, taskType: task.task_type, modelRequested }
      : undefined,
    leaseMs: DEFAULTS.leaseMs,
    settleRetries: DEFAULTS.settleRetries,
  });
}

/** The last call of a run is written with its end, so that a run costs no round trip more than it must. */
async function recordCall(call: EndedModelCall, meter: UsageMeter, record: RunRecord): Promise<void> {
  const ended = meter.add({ ...call, errorCode: call.error?.code });
  if (ended !== undefined) record.keep(ended);
  if (call.continues) await record.open(call.callNo + 1);
}

interface Settled {
  readonly settled: AgentResult;
  readonly error?: RuntimeError;
}

/**
 * Writes the end of the run. A ledger that cannot be written does not take the answer away, but says so in it;
 * another attempt that holds the task does, since a task has one answer.
 */
async function settle(record: RunRecord, result: AgentResult, error: RuntimeError | undefined): Promise<Settled> {
  const state = error === undefined ? 'done' : 'failed';
  try {
    await record.settle({ state, result, lastSentCallNo: result.iterations });
    return { settled: result, error };
  } catch (thrown) {
    const failure = toRuntimeError(thrown);
    if (failure.code === 'RUN_TAKEN_OVER') {
      return error === undefined
        ? { settled: { ...result, status: 'failed' }, error: failure }
        : { settled: result, error };
    }
    const { code, message } = failure;
    return { settled: { ...result, warnings: [...result.warnings, { code, message }] }, error };
  }
}

function describeStop(deadline: Deadline, timeoutSeconds: number): RuntimeError | undefined {
  const cause = deadline.cause();
  if (cause === undefined) return undefined;
  return cause === 'cancelled'
    ? new RuntimeError('RUN_CANCELLED')
    : new RuntimeError('RUN_TIMEOUT', { timeoutSeconds });
}

/** A listener that fails must not end a run that costs money, nor the process. */
function safely(onEvent: OnEvent | undefined): OnEvent {
  if (onEvent === undefined) return () => undefined;
  return (event) => void new Promise((resolve) => resolve(onEvent(event))).catch(() => undefined);
}

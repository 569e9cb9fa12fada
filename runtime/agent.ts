import { addSpent, NOTHING_SPENT } from './billing/budget';
import { startRunRecord, type RunRecord } from './billing/run-record';
import { createUsageMeter, type UsageMeter } from './billing/usage-meter';
import { claimTask, taskToRun, type Claimed } from './claim-task';
import { DEFAULTS } from './config';
import type { OnEvent } from './contracts/event';
import type { LedgerStore } from './contracts/ledger';
import type { Model } from './contracts/model';
import type { LoopOutcome } from './contracts/outcome';
import type { AgentResult } from './contracts/result';
import type { TenantSnapshot, TenantStore } from './contracts/tenant';
import type { EgressFilter } from './contracts/tool';
import { RuntimeError } from './errors/runtime-error';
import { toRuntimeError } from './errors/to-runtime-error';
import { guardCalls } from './guard-calls';
import { runLoop } from './loop/run-loop';
import type { McpServerInput } from './mcp/read-server';
import { candidateModels, chooseTools, planRun, type PlanRequest, type RunPlan } from './plan-run';
import type { SelectTools } from './select-tools';
import { buildResult } from './tasks/build-result';
import { readTask, type ReadyTask } from './tasks/read-task';
import { toExecution } from './to-execution';
import { startDeadline, type Deadline } from './util/abort';
import { elapsedMs, monotonicMs } from './util/clock';
import type { JsonValue } from './util/json';
import type { Redact } from './util/redact';

/** The adapters that one run works with. */
export interface AgentParts {
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  readonly model: Model;
  readonly selectTools: SelectTools;
  /** Blanks every secret that this tenant's runs know. */
  readonly redactorFor: (snapshot: TenantSnapshot) => Redact;
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
 * One run of a task, top to bottom: read the task, load the tenant, decide on model and tools, claim the task and room in
 * the budget, loop, settle the bill. Rejects with a RuntimeError; once the run was claimed or refused for its budget, its
 * `result` holds what was done and spent.
 */
export async function runAgent(parts: AgentParts, input: unknown, options: RunOptions = {}): Promise<AgentResult> {
  const startedAt = monotonicMs();
  const given = readTask(input);
  const timeoutSeconds = given.config.timeout_seconds ?? DEFAULTS.timeoutSeconds;
  const deadline = startDeadline(timeoutSeconds * 1000, options.signal);
  const stopError = (): RuntimeError | undefined => describeStop(deadline, timeoutSeconds);
  try {
    const task = await taskToRun(parts.ledger, given);
    const snapshot = await loadTenant(parts, task);
    const request = planRequest(parts, { task, snapshot, options, deadline });
    const plan = await planRun(request);
    const { ledger } = parts;
    const claim = await claimTask({ ledger, task, plan, deadline, fresh: options.fresh === true });
    if (claim.kind === 'done') return { ...claim.result, replayed: true };
    const context = { parts, plan, request, deadline, stopError, startedAt, options };
    return await runClaimed({
      ...context,
      ...claim,
      redact: parts.redactorFor(snapshot),
      emit: safely(options.onEvent),
    });
  } catch (error) {
    const isStop = error === deadline.signal.reason;
    throw (isStop ? stopError() : undefined) ?? toRuntimeError(error);
  } finally {
    deadline.dispose();
  }
}

function loadTenant(parts: AgentParts, task: ReadyTask): Promise<TenantSnapshot> {
  return parts.tenants.load({ tenantId: task.meta.tenant_id, modelIds: candidateModels(task) });
}

function planRequest(
  parts: AgentParts,
  run: {
    readonly task: ReadyTask;
    readonly snapshot: TenantSnapshot;
    readonly options: RunOptions;
    readonly deadline: Deadline;
  },
): PlanRequest {
  const { task, snapshot, options, deadline } = run;
  const servers = options.mcpServers ?? [];
  return { selectTools: parts.selectTools, task, snapshot, servers, signal: deadline.signal };
}

interface ClaimedRun extends Extract<Claimed, { kind: 'claimed' }> {
  readonly parts: AgentParts;
  readonly plan: RunPlan;
  readonly request: PlanRequest;
  readonly deadline: Deadline;
  readonly stopError: () => RuntimeError | undefined;
  readonly emit: OnEvent;
  readonly redact: Redact;
  readonly startedAt: number;
  readonly options: RunOptions;
}

async function runClaimed(run: ClaimedRun): Promise<AgentResult> {
  const { task, plan, key, emit } = run;
  const modelId = plan.selected.modelId;
  const meter = createUsageMeter({ modelId, prices: plan.snapshot.prices });
  const record = openRecord(run);
  const variables = new Map<string, JsonValue>(Object.entries(run.waiting?.variables ?? {}));
  const tools = plan.toolset.definitions.length;
  emit({ type: 'run-start', runId: key.runId, taskId: key.taskId, model: modelId, tools });

  const outcome = await loop(run, { meter, record, variables });

  const result = buildResult({
    task,
    runId: key.runId,
    tier: plan.selected.tier.code,
    outcome,
    totals: meter.totals(),
    findCall: meter.find,
    durationMs: elapsedMs(run.startedAt),
    warnings: [...plan.warnings, ...meter.warnings()],
    variables,
    redact: run.redact,
  });
  const { settled, error } = await settle(run, record, { result, outcome });
  emit({ type: 'run-end', status: settled.status, costUsd: settled.cost_usd });
  if (error === undefined) return settled;
  error.result = settled;
  throw error;
}

interface RunTools {
  readonly meter: UsageMeter;
  readonly record: RunRecord;
  readonly variables: Map<string, JsonValue>;
}

function loop(run: ClaimedRun, { meter, record, variables }: RunTools): Promise<LoopOutcome> {
  const { parts, task, plan, request, deadline } = run;
  const { signal } = deadline;
  return runLoop({
    model: parts.model,
    toolset: plan.toolset,
    settings: plan.settings,
    messages: run.messages,
    resume: run.waiting?.resume,
    meta: { ...task.meta, task_id: task.task_id, trace_id: task.trace_id, agent: task.config.agent },
    variables,
    egress: run.options.egress,
    redact: run.redact,
    signal,
    stopError: run.stopError,
    onModelCallEnd: (call) => {
      const ended = meter.add({ ...call, errorCode: call.error?.code });
      if (ended !== undefined) record.keep(ended);
    },
    beforeNext: guardCalls({
      plan,
      record,
      meter,
      signal,
      waiting: run.waiting,
      chooseAgain: async () => {
        const snapshot = await loadTenant(parts, task);
        if (!snapshot.tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId: snapshot.tenant.id });
        const { toolset } = await chooseTools({ ...request, snapshot }, plan.selected.tier.code);
        return toolset;
      },
    }),
    onToolCallEnd: (call) => record.audit(toExecution(call, { redact: run.redact, userId: task.meta.user_id })),
    emit: run.emit,
  });
}

function openRecord({ parts, task, plan, key }: ClaimedRun): RunRecord {
  const modelRequested = plan.selected.modelId;
  return startRunRecord({
    ledger: parts.ledger,
    key,
    modelRequested,
    bill: plan.isBilled
      ? { traceId: task.trace_id, tier: plan.selected.tier.code, taskType: task.task_type, modelRequested }
      : undefined,
    leaseMs: DEFAULTS.leaseMs,
    settleRetries: DEFAULTS.settleRetries,
  });
}

interface Settled {
  readonly settled: AgentResult;
  readonly error?: RuntimeError;
}

/**
 * Writes the end of the run. A ledger that cannot be written does not take the answer away, but says so in it;
 * another attempt that holds the task does, since a task has one answer.
 */
async function settle(
  { task: { config, meta }, waiting: before }: ClaimedRun,
  record: RunRecord,
  { result, outcome }: { readonly result: AgentResult; readonly outcome: LoopOutcome },
): Promise<Settled> {
  const { error, resume, lastCallNo: lastSentCallNo } = outcome;
  const waiting = resume && {
    task: { config, meta },
    resume,
    spent: addSpent(before?.spent ?? NOTHING_SPENT, { costUsd: result.cost_usd, tokens: result.tokens.total }),
    variables: result.variables ?? {},
  };
  const state = error === undefined ? (resume === undefined ? 'done' : 'waiting') : 'failed';
  try {
    await record.settle({ state, result, lastSentCallNo, waiting });
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

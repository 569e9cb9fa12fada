import { createUsageMeter } from './billing/usage-meter';
import { DEFAULTS } from './config/runtime-config';
import type { OnEvent } from './contracts/event';
import type { LoopOutcome } from './contracts/outcome';
import type { AgentResult } from './contracts/result';
import type { RunOptions } from './contracts/run';
import type { TenantSnapshot } from './contracts/tenant';
import { RuntimeError } from './errors/runtime-error';
import { toRuntimeError } from './errors/to-runtime-error';
import { identityOf } from './ledger/identity';
import { type RunRecord, startRunRecord } from './ledger/run-record';
import { buildResult } from './run/build-result';
import { claimTask, taskToRun } from './run/claim-run';
import { driveLoop } from './run/drive-loop';
import { failedTools } from './run/failed-tools';
import { loadHistory, saveTurn } from './run/memory';
import { loadTenant, type PlanRequest, planRun } from './run/plan-run';
import type { AgentParts, ClaimedRun } from './run/run-context';
import { settleRun } from './run/settle-run';
import { readTask, type ReadyTask } from './tasks/read-task';
import { type Deadline, startDeadline } from './util/abort';
import { elapsedMs, monotonicMs } from './util/clock';
import type { JsonValue } from './util/json';

export type { RunOptions } from './contracts/run';
export type { AgentParts } from './run/run-context';

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
    const snapshot = await loadTenant(parts.tenants, task, options.connected);
    const request = planRequest(parts, { task, snapshot, options, deadline });
    const plan = await planRun(request);
    // A run that waited has it already.
    const memory = task.config.approval === undefined ? options.connected?.memory : undefined;
    const history = await loadHistory(memory, deadline.signal);
    const { ledger, leaseMs } = parts;
    const claim = await claimTask({ ledger, task, plan, deadline, fresh: options.fresh === true, leaseMs, history });
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
  const { selectTools, model } = parts;
  const { connected = {} } = options;
  return { selectTools, model, connected, task, snapshot, servers, signal: deadline.signal };
}

async function runClaimed(run: ClaimedRun): Promise<AgentResult> {
  const { task, plan, key, emit } = run;
  const modelId = plan.selected.modelId;
  const meter = createUsageMeter({ modelId, prices: plan.snapshot.prices });
  const record = openRecord(run);
  const variables = new Map<string, JsonValue>(Object.entries(run.before?.variables ?? {}));
  const tools = plan.toolset.definitions.length;
  emit({ type: 'run-start', runId: key.runId, taskId: key.taskId, model: modelId, tools });

  const outcome = await driveLoop(run, { meter, record, variables });

  const result = buildResult({
    task,
    runId: key.runId,
    tier: plan.selected.tier.code,
    outcome,
    totals: meter.totals(),
    findCall: meter.find,
    durationMs: elapsedMs(run.startedAt),
    warnings: [...plan.warnings, ...meter.warnings(), ...(outcome.warnings ?? []), ...failedTools(outcome.steps)],
    variables,
    redact: run.redact,
  });
  const { settled, error } = await settleRun(run, record, { result, outcome });
  emit({ type: 'run-end', status: settled.status, costUsd: settled.cost_usd });
  if (error === undefined) return remember(run, settled, outcome);
  error.result = settled;
  throw error;
}

/** After the end is on record: a crash in between loses the turn, and a task that is replayed does not tell it twice. */
async function remember(run: ClaimedRun, settled: AgentResult, { said = [] }: LoopOutcome): Promise<AgentResult> {
  const { task, redact, deadline, options } = run;
  const turn = { message: task.config.message, said, result: settled, redact };
  const warning = await saveTurn(options.connected?.memory, turn, deadline.signal);
  if (warning === undefined) return settled;
  const { code, message } = warning;
  return { ...settled, warnings: [...settled.warnings, { code, message }] };
}

function openRecord({ parts, task, plan, key }: ClaimedRun): RunRecord {
  const modelRequested = plan.selected.modelId;
  return startRunRecord({
    ledger: parts.ledger,
    key,
    modelRequested,
    bill:
      plan.billed === 'nothing'
        ? undefined
        : {
            ...identityOf(task.meta),
            traceId: task.trace_id,
            tier: plan.selected.tier.code,
            taskType: task.task_type,
            modelRequested,
            ...(plan.billed === 'what-costs' ? { onlyWhatCosts: true } : {}),
          },
    leaseMs: parts.leaseMs,
    settleRetries: DEFAULTS.settleRetries,
    outbox: parts.outbox,
  });
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

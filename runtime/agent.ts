import type { AgentResult } from './contracts/result';
import type { RunOptions } from './contracts/run';
import { toRuntimeError } from './errors/to-runtime-error';
import { buildResult } from './run/build-result';
import { startChildren } from './run/children/children-of-run';
import { claimTask } from './run/claim-run';
import { driveLoop } from './run/drive-loop';
import { rememberTurn } from './run/memory';
import { followPlan } from './run/modes/follow-plan';
import { planRun } from './run/plan/plan-run';
import { startRecorder } from './run/recorder';
import type { ClaimedRun, Run, RunEnvironment } from './run/run';
import { openSession } from './run/sessions/open-session';
import { settleRun } from './run/settle-run';
import { stopError, timeoutOf } from './run/stop-error';
import type { ReadyTask } from './tasks/read-task';
import { startDeadline } from './util/abort';
import { monotonicMs } from './util/clock';
import { turn } from './util/turn';

export type { RunOptions } from './contracts/run';
export type { RunEnvironment } from './run/run';

/**
 * One run of a task, top to bottom: load the tenant and decide on model, limits and tools, claim the task
 * and room in the budget, loop, settle the bill. Rejects with a RuntimeError; once the run was claimed, or refused for its
 * budget, its `result` holds what was done and spent.
 */
export async function runAgent(
  environment: RunEnvironment,
  task: ReadyTask,
  { signal, ...host }: RunOptions = {},
): Promise<AgentResult> {
  const deadline = startDeadline(timeoutOf(task), signal);
  return runTask(environment, { request: task, host, startedAt: monotonicMs(), deadline });
}

/** Runs a task for whatever has begun it. Rejects like `runAgent`. */
export async function runTask(environment: RunEnvironment, run: Run): Promise<AgentResult> {
  try {
    const planned = await planRun(environment, run);
    const claim = await claimTask(environment, planned);
    if (claim.kind === 'done') return { ...claim.result, replayed: true };
    return await runClaimed(environment, claim.run);
  } catch (error) {
    const isStop = error === run.deadline.signal.reason;
    throw (isStop ? stopError(run) : undefined) ?? toRuntimeError(error);
  } finally {
    run.deadline.dispose();
  }
}

async function runClaimed(environment: RunEnvironment, claimed: ClaimedRun): Promise<AgentResult> {
  const { key, plan: decided, emit } = claimed;
  const tools = decided.toolset.definitions.length;
  emit({ type: 'run-start', runId: key.runId, taskId: key.taskId, model: decided.selected.modelId, tools });
  const planning = followPlan(claimed);
  const recorder = startRecorder(environment, claimed, planning);
  const run = await openSession(environment, claimed, recorder.account);
  const children = startChildren(run, recorder, (child) => runTask(environment, child));
  const outcome = await driveLoop(run, recorder, { children, planning });
  await turn();
  const result = buildResult(run, outcome, { meter: recorder.account.meter, plan: planning?.report(outcome) });
  const { settled, error } = await settleRun(run, recorder, { result, outcome });
  emit({ type: 'run-end', status: settled.status, costUsd: settled.cost_usd, ...(error && { code: error.code }) });
  if (error !== undefined) throw error.withResult(settled);
  return rememberTurn(run, settled, outcome);
}

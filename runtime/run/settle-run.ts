import { addSpent, NOTHING_SPENT } from '../billing/budget';
import type { Spent } from '../contracts/ledger/journal';
import type { LoopOutcome } from '../contracts/outcome';
import type { AgentResult } from '../contracts/result';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { Recorder } from './recorder';
import type { ClaimedRun } from './run';
import { turnOf } from './sessions/turn-of';

interface Settled {
  readonly settled: AgentResult;
  readonly error?: RuntimeError;
}

/**
 * Writes the end of the run. A ledger that cannot be written does not take the answer away, but says so in it;
 * another attempt that holds the task does, since a task has one answer.
 */
export async function settleRun(
  run: ClaimedRun,
  recorder: Recorder,
  { result, outcome }: { readonly result: AgentResult; readonly outcome: LoopOutcome },
): Promise<Settled> {
  const { plan, needs, variables } = run;
  const { config, meta } = run.request;
  const { error, isPaused, progress, lastStep } = outcome;
  const spent = spentOn(run, result);
  const saved = progress && {
    task: { config, meta },
    progress: { ...progress, spent, variables: Object.fromEntries(variables), agent: plan.agent },
    ...(needs.length === 0 ? {} : { needs }),
  };
  // A run that was paused is continued as one that failed: by its journal.
  const isOver = error === undefined && isPaused !== true;
  const state = isOver ? (saved === undefined ? 'done' : 'waiting') : 'failed';
  try {
    await recorder.settle({ state, result, lastStep, saved, turn: await turnOf(run, { result, outcome, spent }) });
    return { settled: result, error };
  } catch (thrown) {
    const failure = toRuntimeError(thrown);
    // Whatever else went wrong: what becomes of the task is for the other attempt to say.
    if (failure.code === 'RUN_TAKEN_OVER') return { settled: { ...result, status: 'failed' }, error: failure };
    return { settled: { ...result, warnings: [...result.warnings, failure.toSummary()] }, error };
  }
}

/** The spending of the task, over all its runs. */
function spentOn({ earlier }: ClaimedRun, { cost_usd: costUsd, tokens }: AgentResult): Spent {
  return addSpent(earlier?.spent ?? NOTHING_SPENT, { costUsd, tokens: tokens.total });
}

import { addSpent, NOTHING_SPENT } from '../billing/budget';
import type { LoopOutcome } from '../contracts/outcome';
import type { AgentResult } from '../contracts/result';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { RunRecord } from '../ledger/run-record';
import type { ClaimedRun } from './run-context';

interface Settled {
  readonly settled: AgentResult;
  readonly error?: RuntimeError;
}

/**
 * Writes the end of the run. A ledger that cannot be written does not take the answer away, but says so in it;
 * another attempt that holds the task does, since a task has one answer.
 */
export async function settleRun(
  { task: { config, meta }, before }: ClaimedRun,
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
    // Whatever else went wrong: what becomes of the task is for the other attempt to say.
    if (failure.code === 'RUN_TAKEN_OVER') return { settled: { ...result, status: 'failed' }, error: failure };
    const { code, message } = failure;
    return { settled: { ...result, warnings: [...result.warnings, { code, message }] }, error };
  }
}

import pRetry from 'p-retry';

import type { SessionRecord, SessionStore } from '../../contracts/ledger/session';
import { describeError, type ErrorSummary, isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import type { RunAccount } from '../../ledger/account';
import { askWhile } from '../../ledger/ask-while';
import { untilAborted } from '../../util/abort';
import { openingOf } from '../opening';
import type { ClaimedRun, RunEnvironment, RunSession } from '../run';
import { summarise } from './summarise';
import { fitWindow, messagesOf, withoutSummary } from './window';

/**
 * Waits until no earlier run of its session is at work, and opens the run with what was said before. A run that goes on has its opening
 * already. Never rejects: why it cannot begin is the run's refusal.
 */
export async function openSession(
  { ledger: { sessions } }: RunEnvironment,
  run: ClaimedRun,
  account: RunAccount,
): Promise<ClaimedRun> {
  const { session } = run.plan;
  if (session === undefined || sessions === undefined || run.refusal !== undefined) return run;
  try {
    await takeSession(sessions, session, run);
    if (!isAtBeginning(run)) return run;
    const record = await patiently(() => sessions.load(session, session), run.deadline.signal);
    return withHistory(run, await fitted(sessions, { run, session, account }, record));
  } catch (error) {
    const refusal = toRuntimeError(error);
    // The loop finds out by itself that it was stopped.
    return run.deadline.signal.aborted && refusal.code !== 'SESSION_BUSY' ? run : { ...run, refusal };
  }
}

async function takeSession(sessions: SessionStore, session: RunSession, { key, deadline }: ClaimedRun): Promise<void> {
  const { signal } = deadline;
  const hold = (): Promise<boolean> => patiently(() => sessions.hold(session, key.runId), signal);
  const isHeld = await askWhile(hold, (held) => !held, signal).catch((error: unknown) => {
    if (signal.aborted) return false;
    throw error;
  });
  if (isHeld) return;
  if (deadline.cause() === 'timeout') throw new RuntimeError('SESSION_BUSY', { session: session.sessionId });
  throw signal.reason as Error;
}

/** Sits out a restart of the database, as tool calls do: five seconds in all. */
function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => isRuntimeError(error) && error.retryable;
  return untilAborted(pRetry(ask, { retries: 4, minTimeout: 300, signal, shouldRetry }), signal);
}

/** Nothing of it is on record but what it has spent. */
function isAtBeginning({ earlier }: ClaimedRun): boolean {
  return earlier === undefined || (earlier.iterations === 0 && earlier.pending === undefined);
}

interface Opening {
  readonly record: SessionRecord;
  readonly warnings?: readonly ErrorSummary[];
}

interface OfSession {
  readonly run: ClaimedRun;
  readonly session: RunSession;
  readonly account: RunAccount;
}

async function fitted(
  sessions: SessionStore,
  { run, session, account }: OfSession,
  given: SessionRecord,
): Promise<Opening> {
  const { windowTokens } = session;
  const { record, leaving } = fitWindow(given, windowTokens);
  if (leaving === undefined) return { record };
  try {
    const summary = await summarise(run, account, { before: given.summary, turns: leaving, windowTokens });
    await sessions.addSummary(session, run.key, summary);
    return { record: { ...record, summary } };
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    if (run.deadline.signal.aborted || error.code === 'RUN_TAKEN_OVER') throw thrown;
    // Without it the conversation goes on with what fits.
    const warning = describeError('SESSION_NOT_SUMMARISED', { turns: leaving.length, reason: error.message });
    return { record: withoutSummary(given, windowTokens), warnings: [warning] };
  }
}

function withHistory(run: ClaimedRun, { record, warnings = [] }: Opening): ClaimedRun {
  const opening = openingOf(run, { history: messagesOf(record), summary: record.summary?.text });
  const { earlier } = run;
  return {
    ...run,
    plan: { ...run.plan, warnings: [...run.plan.warnings, ...warnings] },
    opening,
    earlier: earlier && { ...earlier, messages: opening, openingLength: opening.length },
  };
}

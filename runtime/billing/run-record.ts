import pRetry from 'p-retry';

import type {
  BillingLine,
  CallToTake,
  LedgerStore,
  Recorded,
  Reservation,
  RunEnd,
  RunKey,
  RunProgress,
  ToolExecution,
} from '../contracts/ledger';
import type { ModelCallRecord } from '../contracts/usage';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { every, monotonicMs, sleep } from '../util/clock';
import { askWhile } from './ask-while';
import { budgetExceeded } from './budget';

/** A claimed run's line in the ledger, as long as the run lasts. */
export interface RunRecord {
  /** Keeps an ended model call for the next write. */
  readonly keep: (call: ModelCallRecord) => void;
  /** Keeps an ended tool call for the next write. */
  readonly audit: (execution: ToolExecution) => void;
  /**
   * Writes what is kept, opens the next model call and takes the tool calls off their limits. Rejects with RUN_TAKEN_OVER,
   * or BUDGET_EXCEEDED when the month has no room for the call; with a DB_ code when it
   * could not be reserved. Undefined when it could not be written: then nothing is
   * known of the tool calls, and what is kept stays kept.
   */
  readonly next: (next: NextStep, signal: AbortSignal) => Promise<Recorded | undefined>;
  /** Ends the run. Rejects with RUN_TAKEN_OVER, or with LEDGER_WRITE_FAILED after several tries. Stops the lease in any case. */
  readonly settle: (end: RunEnd) => Promise<void>;
}

export interface NextStep {
  /** Undefined when no model call follows. */
  readonly callNo: number | undefined;
  readonly taking: readonly CallToTake[];
  readonly reserve?: Reservation;
}

export interface RunRecordOptions {
  readonly ledger: LedgerStore;
  readonly key: RunKey;
  readonly modelRequested: string;
  readonly bill?: BillingLine;
  readonly leaseMs: number;
  readonly settleRetries: number;
}

/** Tool calls wait for the ledger's word, so a short failure is sat out. */
const NEXT_RETRIES = 2;
const FIRST_RETRY_MS = 100;

/**
 * Keeps what the ledger has not confirmed, so that a write that fails is made up for by the next one.
 * The lease is renewed by each write, and by a timer while a model or a tool takes long.
 */
export function startRunRecord(options: RunRecordOptions): RunRecord {
  const { key, modelRequested, settleRetries } = options;
  const writer = startWriter(options);
  return {
    keep: writer.keep,
    audit: writer.audit,
    next: async ({ callNo, taking, reserve }, signal) => {
      const opening = callNo === undefined ? undefined : { callNo, modelRequested };
      const attempt = (): Promise<Recorded> => writer.write({ opening, taking, reserve });
      const again = { retries: NEXT_RETRIES - 1, minTimeout: 300, signal };
      const recorded = await askWhile(
        () =>
          attempt().catch(async (error: unknown) => {
            if (taking.length === 0) throw error;
            await sleep(FIRST_RETRY_MS, signal);
            return pRetry(attempt, again);
          }),
        ({ room }) => room === 'held',
        signal,
      ).catch((error: unknown) => {
        // Without room in the budget no model may be called.
        if (reserve !== undefined) throw error;
        return undefined;
      });
      refuseTakenOver(writer, key);
      if (recorded?.room === 'exceeded' || recorded?.room === 'held') throw budgetExceeded(reserve);
      return recorded;
    },
    settle: async (end) => {
      writer.stopRenewing();
      const retry = { retries: settleRetries, minTimeout: 100, factor: 3, randomize: true };
      try {
        await pRetry(() => writer.write({ end }), retry);
      } catch (error) {
        const details = { reason: errorText(error), unwritten: describe(writer.unwritten()) };
        throw new RuntimeError('LEDGER_WRITE_FAILED', details, { cause: error });
      }
      refuseTakenOver(writer, key);
    },
  };
}

interface Writer extends Pick<RunRecord, 'keep' | 'audit'> {
  readonly write: (rest: Pick<RunProgress, 'opening' | 'taking' | 'reserve' | 'end'>) => Promise<Recorded>;
  readonly unwritten: () => readonly ModelCallRecord[];
  readonly isTakenOver: () => boolean;
  readonly stopRenewing: () => void;
}

function startWriter({ ledger, key, bill, leaseMs }: RunRecordOptions): Writer {
  let unwritten: readonly ModelCallRecord[] = [];
  let unaudited: readonly ToolExecution[] = [];
  let writtenAt = monotonicMs();
  let isTakenOver = false;
  const writeNow: Writer['write'] = async (rest) => {
    const closed = unwritten;
    const executions = unaudited;
    const recorded = await ledger.record({ ...key, closed, executions, leaseMs, bill, ...rest });
    unwritten = unwritten.filter((call) => !closed.includes(call));
    unaudited = unaudited.filter((execution) => !executions.includes(execution));
    writtenAt = monotonicMs();
    if (!recorded.held) isTakenOver = true;
    return recorded;
  };
  let last: Promise<unknown> | undefined;
  // One after the other, so that a write which nobody waits for any more does not come after the end of the run.
  const write: Writer['write'] = (rest) => {
    const written = last === undefined ? writeNow(rest) : last.then(() => writeNow(rest));
    const ended = written
      .catch(() => undefined)
      .then(() => {
        if (last === ended) last = undefined;
      });
    last = ended;
    return written;
  };
  return {
    keep: (call) => {
      unwritten = [...unwritten, call];
    },
    audit: (execution) => {
      unaudited = [...unaudited, execution];
    },
    write,
    unwritten: () => unwritten,
    isTakenOver: () => isTakenOver,
    stopRenewing: every(leaseMs / 6, () => {
      if (monotonicMs() - writtenAt > leaseMs / 3) write({}).catch(() => undefined);
    }),
  };
}

function refuseTakenOver({ isTakenOver }: Writer, { taskId }: RunKey): void {
  if (isTakenOver()) throw new RuntimeError('RUN_TAKEN_OVER', { taskId });
}

/** Enough to book the usage by hand. */
function describe(calls: readonly ModelCallRecord[]): string {
  if (calls.length === 0) return 'the end of the run';
  return calls
    .map(
      ({ modelBilled, usage, costUsd }) =>
        `${modelBilled} ${usage.promptTokens}+${usage.completionTokens} tokens $${costUsd}`,
    )
    .join(', ');
}

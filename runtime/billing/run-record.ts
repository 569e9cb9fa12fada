import pRetry from 'p-retry';

import type { BillingLine, LedgerStore, RunKey } from '../contracts/ledger';
import type { AgentResult } from '../contracts/result';
import type { ModelCallRecord } from '../contracts/usage';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { every, monotonicMs } from '../util/clock';

/** A claimed run's line in the ledger, as long as the run lasts. */
export interface RunRecord {
  /** Keeps an ended call for the next write. */
  readonly keep: (call: ModelCallRecord) => void;
  /** Writes what is kept and opens the next call. Rejects only with RUN_TAKEN_OVER; what could not be written stays kept. */
  readonly open: (callNo: number) => Promise<void>;
  /** Ends the run. Rejects with RUN_TAKEN_OVER, or with LEDGER_WRITE_FAILED after several tries. Stops the lease in any case. */
  readonly settle: (end: SettledRun) => Promise<void>;
}

export interface SettledRun {
  readonly state: 'done' | 'failed';
  readonly result: AgentResult;
  readonly lastSentCallNo: number;
}

export interface RunRecordOptions {
  readonly ledger: LedgerStore;
  readonly key: RunKey;
  readonly modelRequested: string;
  readonly bill?: BillingLine;
  readonly leaseMs: number;
  readonly settleRetries: number;
}

/**
 * Keeps what the ledger has not confirmed, so that a write that fails is made up for by the next one.
 * The lease is renewed by each write, and by a timer while a model or a tool takes long.
 */
export function startRunRecord(options: RunRecordOptions): RunRecord {
  const { ledger, key, bill, leaseMs } = options;
  let unwritten: readonly ModelCallRecord[] = [];
  let writtenAt = monotonicMs();
  let isTakenOver = false;

  const write = async (rest: {
    opening?: { callNo: number; modelRequested: string };
    end?: SettledRun;
  }): Promise<void> => {
    const closed = unwritten;
    const { held } = await ledger.record({ ...key, closed, leaseMs, bill, ...rest });
    unwritten = unwritten.filter((call) => !closed.includes(call));
    writtenAt = monotonicMs();
    if (!held) isTakenOver = true;
  };
  const refuseTakenOver = (): void => {
    if (isTakenOver) throw new RuntimeError('RUN_TAKEN_OVER', { taskId: key.taskId });
  };
  const stopRenewing = every(leaseMs / 6, () => {
    if (monotonicMs() - writtenAt > leaseMs / 3) write({}).catch(() => undefined);
  });

  return {
    keep: (call) => {
      unwritten = [...unwritten, call];
    },
    open: async (callNo) => {
      // The usage stays in `unwritten`: the next write, at the latest settle, makes up for a failure here.
      await write({ opening: { callNo, modelRequested: options.modelRequested } }).catch(() => undefined);
      refuseTakenOver();
    },
    settle: async (end) => {
      stopRenewing();
      try {
        await pRetry(() => write({ end }), {
          retries: options.settleRetries,
          minTimeout: 100,
          factor: 3,
          randomize: true,
        });
      } catch (error) {
        throw new RuntimeError(
          'LEDGER_WRITE_FAILED',
          { reason: errorText(error), unwritten: describe(unwritten) },
          { cause: error },
        );
      }
      refuseTakenOver();
    },
  };
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

import pRetry from 'p-retry';

import { budgetExceeded } from '../billing/budget';
import type { JournalEntry, Step } from '../contracts/ledger/journal';
import type {
  BillingLine,
  CallToTake,
  Family,
  Identity,
  LedgerStore,
  OpenCall,
  Recorded,
  Reservation,
  RunEnd,
  RunKey,
  RunProgress,
} from '../contracts/ledger/ledger';
import type { Outbox } from '../contracts/ledger/outbox';
import type { ModelCallRecord } from '../contracts/ledger/usage';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { after, every, monotonicMs, sleep } from '../util/clock';
import { askWhile } from './ask-while';
import { type SentCalls, trackSentCalls } from './sent-calls';
import { keepUnwritten, type Kept, type Unwritten } from './unwritten';

/** A claimed run's line in the ledger, as long as the run lasts. */
export interface RunRecord {
  /** Keeps an ended model call for the next write. */
  readonly keep: (call: ModelCallRecord) => void;
  /** Keeps an ended tool call for the next write. */
  readonly audit: (line: ToolCallRecord) => void;
  /** Keeps an entry of the journal for the next write; an `urgent` one has that write made soon. */
  readonly journal: (entry: JournalEntry, isUrgent?: boolean) => void;
  /** A call of the last step was not sent after all, so another run may send it. */
  readonly withdraw: (toolCallId: string) => void;
  /**
   * Writes what is kept, opens the next model call and takes the tool calls off their limits. Rejects with RUN_TAKEN_OVER,
   * or BUDGET_EXCEEDED when the month has no room for the call; with a DB_ code when room
   * or tool calls could not be put on record. Undefined when it could not be written otherwise: what is kept stays kept.
   */
  readonly next: (write: NextWrite, signal: AbortSignal) => Promise<Recorded | undefined>;
  /**
   * Ends the run; `lost` is its last call, if nobody knows what that used. Rejects with RUN_TAKEN_OVER; after several tries with
   * LEDGER_WRITE_DELAYED when the outbox keeps the end, else with LEDGER_WRITE_FAILED. Stops the lease in any case.
   */
  readonly settle: (end: RunEnd, lost?: OpenCall) => Promise<void>;
  /** Returns true from the moment on in which the run is being ended. */
  readonly isOver: () => boolean;
  /** Adds a call whose usage was unknown when the run ended. */
  readonly addLate: (call: ModelCallRecord) => Promise<void>;
}

export interface NextWrite {
  /** The model call that follows, if one does. */
  readonly opening?: OpenCall;
  readonly taking: readonly CallToTake[];
  /** Asked for at each try: what else the run holds may have changed. */
  readonly room?: () => Holding | undefined;
  /** Tried again while the database is away, as with tool calls. */
  readonly isVital?: boolean;
  /** Whose calls are sent when this is written. */
  readonly step?: Step;
}

/** What is written of the holds of a run. */
export type Holding = Pick<RunProgress, 'reserve' | 'hold'>;

interface RunRecordOptions {
  readonly ledger: LedgerStore;
  readonly key: RunKey;
  readonly family?: Family;
  readonly bill?: BillingLine;
  readonly identity?: Identity;
  readonly leaseMs: number;
  readonly settleRetries: number;
  readonly outbox?: Outbox;
}

/** Tool calls wait for the ledger's word, so a restart of the database is sat out: five seconds in all. */
const NEXT_RETRIES = 5;
const FIRST_RETRY_MS = 100;
/** The write of a quick model's next step takes urgent entries along, so that they cost none of their own. */
const FLUSH_MS = 200;

/**
 * Keeps what the ledger has not confirmed, so that a write that fails is made up for by the next one.
 * The lease is renewed by each write, and by a timer while a model or a tool takes long.
 */
export function startRunRecord(options: RunRecordOptions): RunRecord {
  const { key } = options;
  const writer = startWriter(options);
  const sentCalls = trackSentCalls();
  const settled = Promise.withResolvers();
  let isOver = false;
  return {
    isOver: () => isOver,
    keep: writer.keep,
    audit: writer.audit,
    journal: (entry, isUrgent = false) => {
      writer.journal(entry);
      if (isUrgent) writer.flushSoon();
    },
    withdraw: (toolCallId) => {
      const step = sentCalls.withdraw(toolCallId);
      if (step !== undefined) writer.journal(step);
    },
    next: nextWrites(writer, sentCalls, key),
    settle: async (end, opening) => {
      isOver = true;
      await writeEnd(writer, { end, opening }, options).finally(() => settled.resolve(undefined));
      refuseTakenOver(writer, key);
    },
    addLate: async (call) => {
      await settled.promise;
      const { family, leaseMs, bill, identity } = options;
      await writeLate({ ...key, family, leaseMs, bill, ...identity, closed: [call] }, options);
    },
  };
}

function nextWrites(writer: Writer, sentCalls: SentCalls, key: RunKey): RunRecord['next'] {
  return async ({ taking, room, step, opening, isVital = taking.length > 0 }, signal) => {
    let reserve: Reservation | undefined;
    const attempt = (): Promise<Recorded> => {
      const now = room?.();
      reserve = now?.reserve;
      return writer.write({ taking, step, opening, ...now });
    };
    const again = { retries: NEXT_RETRIES - 1, minTimeout: 300, signal };
    const recorded = await askWhile(
      () =>
        attempt().catch(async (error: unknown) => {
          if (!isVital) throw error;
          await sleep(FIRST_RETRY_MS, signal);
          return pRetry(attempt, again);
        }),
      ({ budget }) => budget === 'wait',
      signal,
    ).catch((error: unknown) => {
      // No model is called without room in the budget, and no tool whose call is not on record.
      if (reserve !== undefined || taking.length > 0) throw error;
      return undefined;
    });
    refuseTakenOver(writer, key);
    if (step !== undefined) sentCalls.begin(step);
    if (recorded?.budget === 'exceeded' || recorded?.budget === 'wait') throw budgetExceeded(reserve);
    return recorded;
  };
}

interface Ending {
  readonly end: RunEnd;
  readonly opening?: OpenCall;
}

async function writeEnd(
  writer: Writer,
  ending: Ending,
  { settleRetries, ledger, outbox }: Pick<RunRecordOptions, 'settleRetries' | 'ledger' | 'outbox'>,
): Promise<void> {
  writer.stopTimers();
  // A bill that is unfit or locked stays so: meanwhile the usage counts towards the month's limits, and nobody takes a run for
  // lost whose end is known.
  let isCounted = false;
  const onFailedAttempt = async ({ error }: { readonly error: unknown }): Promise<void> => {
    if (isCounted || isGone(error) || (isRuntimeError(error) && error.code === 'DB_UNREACHABLE')) return;
    isCounted = await ledger.recordUnbilled(writer.progress(ending)).then(
      () => true,
      () => false,
    );
  };
  try {
    const retry = { retries: settleRetries, minTimeout: 100, factor: 3, randomize: true };
    await pRetry(() => writer.write(ending), {
      ...retry,
      onFailedAttempt,
      shouldRetry: ({ error }) => !isGone(error),
    });
  } catch (error) {
    throw await endUnwritten(writer, { ...ending, outbox, error });
  }
}

async function writeLate(
  progress: RunProgress,
  { ledger, outbox }: Pick<RunRecordOptions, 'ledger' | 'outbox'>,
): Promise<void> {
  try {
    await ledger.record(progress);
  } catch (error) {
    if (isGone(error)) return;
    await ledger.recordUnbilled(progress).catch(() => undefined);
    await outbox?.keep(progress);
  }
}

/** Returns true if the tenant was deleted with its bill, so that nothing can be written later. */
function isGone(error: unknown): boolean {
  return isRuntimeError(error) && error.code === 'TENANT_NOT_FOUND';
}

/** The ledger has not taken the end of the run: the outbox may keep it. */
async function endUnwritten(
  writer: Writer,
  { end, opening, outbox, error }: Ending & { readonly outbox?: Outbox; readonly error: unknown },
): Promise<RuntimeError> {
  const kept = isGone(error) ? undefined : outbox?.keep(writer.progress({ end, opening })).then(() => true);
  const isKept = await (kept ?? Promise.resolve(false)).catch(() => false);
  const details = { reason: errorText(error), unwritten: describe(writer.unwritten()) };
  return new RuntimeError(isKept ? 'LEDGER_WRITE_DELAYED' : 'LEDGER_WRITE_FAILED', details, { cause: error });
}

interface Writer extends Pick<Unwritten, 'keep' | 'audit' | 'journal'> {
  readonly write: (rest: WriteParts) => Promise<Recorded>;
  /** All that a write would hold. */
  readonly progress: (rest: WriteParts) => RunProgress;
  readonly flushSoon: () => void;
  readonly unwritten: () => readonly ModelCallRecord[];
  readonly isTakenOver: () => boolean;
  /** Nothing is written any more but what is asked for. */
  readonly stopTimers: () => void;
}

interface WriteParts extends Pick<RunProgress, 'opening' | 'taking' | 'reserve' | 'hold' | 'end'> {
  readonly step?: Step;
}

function startWriter({ ledger, key, family, bill, identity, leaseMs }: RunRecordOptions): Writer {
  const unwritten = keepUnwritten();
  let writtenAt = monotonicMs();
  let isTakenOver = false;
  let stopFlush: (() => void) | undefined;
  const progress = ({ step, ...rest }: WriteParts): RunProgress & Kept => ({
    ...key,
    ...unwritten.all(step),
    leaseMs,
    family,
    bill,
    ...identity,
    ...rest,
  });
  const writeNow = async (rest: WriteParts): Promise<Recorded> => {
    stopFlush?.();
    stopFlush = undefined;
    const written = progress(rest);
    const at = unwritten.now();
    const recorded = await ledger.record(written);
    unwritten.confirm(written, at);
    writtenAt = monotonicMs();
    if (!recorded.isOurs) isTakenOver = true;
    return recorded;
  };
  const write = oneAfterTheOther(writeNow);
  const writeKept = (): void => void write({}).catch(() => undefined);
  const stopRenewing = every(leaseMs / 6, () => {
    if (monotonicMs() - writtenAt > leaseMs / 3) writeKept();
  });
  return {
    ...unwritten,
    write,
    progress,
    flushSoon: () => {
      stopFlush ??= after(FLUSH_MS, writeKept);
    },
    unwritten: () => unwritten.all().closed,
    isTakenOver: () => isTakenOver,
    stopTimers: () => {
      stopRenewing();
      stopFlush?.();
    },
  };
}

/** So that a write which nobody waits for any more does not come after the end of the run. */
function oneAfterTheOther<T, R>(work: (given: T) => Promise<R>): (given: T) => Promise<R> {
  let last: Promise<unknown> | undefined;
  return (given) => {
    const done = last === undefined ? work(given) : last.then(() => work(given));
    const ended = done
      .catch(() => undefined)
      .then(() => {
        if (last === ended) last = undefined;
      });
    last = ended;
    return done;
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

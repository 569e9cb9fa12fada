import type { AgentResult, LedgerStore, ModelCallRecord, RunProgress } from '../../../runtime';
import type { ToolCallEntry } from '../../../runtime/contracts/ledger/journal';
import type { RunEnd } from '../../../runtime/contracts/ledger/ledger';
import { type RunRecord, startRunRecord } from '../../../runtime/ledger/run-record';
import { createMemoryLedger } from '../../../runtime/testing';
import { usageOf } from '../../support/values/usage-of';

const LEASE_MS = 60_000;
const KEY = { tenantId: 'tenant', taskId: 'task', runId: 'run' };
const END: RunEnd = { state: 'done', result: { task_id: 'task' } as AgentResult, lastStep: 1 };

interface FakeLedger extends LedgerStore {
  readonly written: RunProgress[];
  /** What the next writes do: fail with this text, or say whether the task is still held. */
  readonly next: (string | boolean)[];
}

function fakeLedger(): FakeLedger {
  const written: RunProgress[] = [];
  const next: (string | boolean)[] = [];
  return {
    ...createMemoryLedger(),
    written,
    next,
    record: (progress) => {
      const outcome = next.shift() ?? true;
      if (typeof outcome === 'string') return Promise.reject(new Error(outcome));
      written.push(progress);
      return Promise.resolve({ isOurs: outcome });
    },
  };
}

function start(ledger: LedgerStore, settleRetries = 0): RunRecord {
  return startRunRecord({ ledger, key: KEY, leaseMs: LEASE_MS, settleRetries });
}

const call = (step: number): ModelCallRecord => ({
  step,
  modelRequested: 'a/model',
  modelBilled: 'a/model',
  usage: usageOf(1250, 340),
  costUsd: '0.0003915',
  unansweredRequests: 0,
});
const open = (record: RunRecord, next: number) =>
  record.next({ opening: { step: next, modelRequested: 'a/model' }, taking: [] }, new AbortController().signal);
const closedNumbers = (ledger: FakeLedger) => ledger.written.map(({ closed }) => closed.map(({ step }) => step));

afterEach(() => jest.useRealTimers());

it('writes an ended call with the opening of the next, each once', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  record.keep(call(1));
  await open(record, 2);
  record.keep(call(2));
  await record.settle(END);
  expect(closedNumbers(ledger)).toEqual([[1], [2]]);
  expect(ledger.written[0]).toMatchObject({ opening: { step: 2, modelRequested: 'a/model' } });
  expect(ledger.written[1]).toMatchObject({ end: END });
});

it('makes up for a step that could not be written with the next write', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  ledger.next.push('connection lost');
  record.keep(call(1));
  await open(record, 2);
  record.keep(call(2));
  await open(record, 3);
  record.keep(call(3));
  await record.settle(END);
  expect(closedNumbers(ledger)).toEqual([[1, 2], [3]]);
});

it('keeps what was added while a write was under way', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  record.keep(call(1));
  const opening = open(record, 2);
  record.keep(call(2));
  await opening;
  await record.settle(END);
  expect(closedNumbers(ledger)).toEqual([[1], [2]]);
});

it('stops the run when another attempt has taken the task over', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  ledger.next.push(false);
  record.keep(call(1));
  await expect(open(record, 2)).rejects.toMatchObject({ code: 'RUN_TAKEN_OVER' });
  expect(closedNumbers(ledger)).toEqual([[1]]);
});

it('does not pass for settled when another attempt has taken the task over, but writes its usage', async () => {
  const ledger = fakeLedger();
  const record = start(ledger, 3);
  ledger.next.push(false);
  record.keep(call(1));
  await expect(record.settle(END)).rejects.toMatchObject({ code: 'RUN_TAKEN_OVER' });
  expect(closedNumbers(ledger)).toEqual([[1]]);
});

it('tries to settle again, with all that is not written', async () => {
  const ledger = fakeLedger();
  const record = start(ledger, 2);
  ledger.next.push('gone', 'still gone');
  record.keep(call(1));
  await record.settle(END);
  expect(closedNumbers(ledger)).toEqual([[1]]);
});

it('names the reason and the usage that could not be written, so that it can be booked by hand', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  ledger.next.push('the disk is full');
  record.keep(call(1));
  record.keep(call(2));
  const failed = record.settle(END);
  await expect(failed).rejects.toMatchObject({ code: 'LEDGER_WRITE_FAILED' });
  await expect(failed).rejects.toThrow(
    'the disk is full. Not written: a/model 1250+340 tokens $0.0003915, a/model 1250+340 tokens $0.0003915.',
  );
});

it('says that only the end is missing when all usage had been written', async () => {
  const ledger = fakeLedger();
  const record = start(ledger);
  ledger.next.push('gone');
  await expect(record.settle(END)).rejects.toThrow('Not written: the end of the run.');
});

describe('the journal', () => {
  beforeEach(() => jest.useFakeTimers());
  const outcome = (id: string): ToolCallEntry => ({
    ...{
      step: 1,
      id,
      tool: 'pay',
      arguments: {},
      decision: 'allow',
      isRepeatable: false,
      wasSent: true,
      durationMs: 1,
    },
    outcome: { isError: false, value: 1 },
  });
  const journaled = (ledger: FakeLedger) =>
    ledger.written.map(({ journal = [] }) => journal.map((entry) => ('id' in entry ? entry.id : '')));

  it('is written soon with what must not be lost, and with the next write otherwise', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    record.journal(outcome('a'));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 10);
    expect(ledger.written).toEqual([]);
    record.journal(outcome('b'), true);
    await jest.advanceTimersByTimeAsync(1000);
    expect(journaled(ledger)).toEqual([['a', 'b']]);
    await record.settle(END);
    expect(journaled(ledger)).toEqual([['a', 'b'], []]);
  });

  it('costs no write of its own when the next one comes before', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    record.journal(outcome('a'), true);
    await jest.advanceTimersByTimeAsync(100);
    await open(record, 2);
    await jest.advanceTimersByTimeAsync(LEASE_MS / 10);
    expect(journaled(ledger)).toEqual([['a']]);
    record.journal(outcome('b'), true);
    await record.settle({ ...END, state: 'failed' });
    await jest.advanceTimersByTimeAsync(LEASE_MS);
    expect(journaled(ledger)).toEqual([['a'], ['b']]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('keeps what replaced an entry while that one was being written', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    record.journal(outcome('a'));
    const writing = open(record, 2);
    record.journal({ ...outcome('a'), durationMs: 7 });
    await writing;
    await record.settle({ ...END, state: 'failed' });
    expect(ledger.written.at(-1)?.journal).toEqual([{ ...outcome('a'), durationMs: 7 }]);
  });

  it('is made up for by the next write when it could not be written', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    ledger.next.push('gone');
    record.journal(outcome('a'), true);
    await jest.advanceTimersByTimeAsync(1000);
    await open(record, 2);
    expect(journaled(ledger)).toEqual([['a']]);
    await record.settle(END);
  });
});

describe('the lease', () => {
  beforeEach(() => jest.useFakeTimers());

  it('is renewed well before it ends while a model or a tool takes long, with the usage not yet written', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    record.keep(call(1));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 2);
    expect(ledger.written.length).toBeGreaterThan(0);
    expect(ledger.written[0]).toMatchObject({ leaseMs: LEASE_MS, closed: [{ step: 1 }] });
    expect(ledger.written[0]).not.toHaveProperty('end');
    await jest.advanceTimersByTimeAsync(LEASE_MS * 10);
    expect(ledger.written.length).toBeGreaterThanOrEqual(20);
    expect(closedNumbers(ledger).flat()).toEqual([1]);
    await record.settle(END);
  });

  it('is tried again soon after a renewal that failed', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    ledger.next.push('gone');
    await jest.advanceTimersByTimeAsync(LEASE_MS - 1);
    expect(ledger.written.length).toBeGreaterThan(0);
    await record.settle(END);
  });

  it('costs no write of its own while steps are written often enough', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    for (let step = 2; step <= 20; step++) {
      await jest.advanceTimersByTimeAsync(LEASE_MS / 4);
      await open(record, step);
    }
    expect(ledger.written.length).toBe(19);
    await record.settle(END);
  });

  it('is not renewed after the run ended, nor when its end could not be written', async () => {
    const ledger = fakeLedger();
    const record = start(ledger);
    ledger.next.push('gone');
    await expect(record.settle(END)).rejects.toMatchObject({ code: 'LEDGER_WRITE_FAILED' });
    await jest.advanceTimersByTimeAsync(LEASE_MS * 10);
    expect(ledger.written).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

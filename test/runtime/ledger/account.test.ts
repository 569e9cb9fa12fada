import type { MadeCall, PlannedCall } from '../../../runtime/contracts/ledger/account';
import type { LedgerStore, RunProgress } from '../../../runtime/contracts/ledger/ledger';
import { openAccount, type RunAccount } from '../../../runtime/ledger/account';
import { type RunRecord, startRunRecord } from '../../../runtime/ledger/run-record';
import { createMemoryLedger } from '../../../runtime/testing/memory-ledger';
import { eventually } from '../../support/values/agent-fixture';
import { aModelRequest } from '../../support/values/model-request';
import { usageOf } from '../../support/values/usage-of';

const PRICES = [{ modelId: 'a/model', inputPer1M: '100', outputPer1M: '100' }];
const BILL = { tier: 'pro', taskType: 'ai_agent', modelRequested: 'a/model' };
/** Ten cents for a thousand tokens. */
const CALL: PlannedCall = { purpose: 'summarise', modelId: 'a/model', promptTokens: 500, completionTokens: 500 };

const made = (prompt: number, completion: number): MadeCall => ({
  request: { ...aModelRequest(), attempts: { sent: 1, answered: 1 } },
  reply: {
    message: { role: 'assistant', content: 'Short.' },
    finishReason: 'stop',
    usage: usageOf(prompt, completion),
  },
});
const lost = (sent: number): MadeCall => ({ request: { ...aModelRequest(), attempts: { sent, answered: 0 } } });

interface World {
  readonly account: RunAccount;
  readonly record: RunRecord;
  /** Everything that was written, the oldest first. */
  readonly written: readonly RunProgress[];
  readonly ledger: ReturnType<typeof createMemoryLedger>;
  readonly stop: AbortController;
}

const open: RunRecord[] = [];
afterEach(async () => {
  const end = { state: 'done', result: {} as never, lastStep: 1 } as const;
  await Promise.all(open.splice(0).map((record) => record.settle(end).catch(() => undefined)));
});

async function world(
  limits: { readonly monthly?: string; readonly maxCostUsd?: string; readonly opened?: number } = {},
  wrap: (ledger: LedgerStore) => LedgerStore = (ledger) => ledger,
  memory = createMemoryLedger(),
): Promise<World> {
  const written: RunProgress[] = [];
  const key = { tenantId: 'tenant', taskId: `task ${Math.random()}`, runId: `run ${Math.random()}` };
  await memory.claim({ ...key, digest: 'd', fresh: false, leaseMs: 60_000 });
  const wrapped = wrap(memory);
  const ledger: LedgerStore = {
    ...wrapped,
    record: (progress) => {
      written.push(progress);
      return wrapped.record(progress);
    },
  };
  const record = startRunRecord({ ledger, key, bill: BILL, leaseMs: 60_000, settleRetries: 0 });
  open.push(record);
  const stop = new AbortController();
  const account = openAccount({
    record,
    prices: PRICES,
    modelId: 'a/model',
    signal: stop.signal,
    opened: limits.opened,
    budget: {
      ...(limits.monthly === undefined ? {} : { monthly: { costLimitUsd: limits.monthly } }),
      maxCostUsd: limits.maxCostUsd,
    },
  });
  return { account, record, written, ledger: memory, stop };
}

it('a call beside the steps is on record before it is made, and on the bill when it was', async () => {
  const { account, written, ledger } = await world({ opened: 1 });
  const callNo = await account.reserve(CALL);
  expect(written.at(-1)?.opening).toEqual({ callNo: 2, step: 0, purpose: 'summarise', modelRequested: 'a/model' });
  await expect(account.charge(callNo, made(400, 100))).resolves.toEqual(usageOf(400, 100));
  expect(ledger.calls('tenant')).toMatchObject([{ callNo: 2, purpose: 'summarise', costUsd: '0.05' }]);
  expect(account.spent()).toEqual({ costUsd: '0.05000000', tokens: 500 });
  expect(account.meter.find(1)).toBeUndefined();
});

it('a call cannot be charged twice, nor one that was not reserved', async () => {
  const { account } = await world();
  const callNo = await account.reserve(CALL);
  await account.charge(callNo, made(1, 1));
  await expect(account.charge(callNo, made(1, 1))).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  await expect(account.charge(99, made(1, 1))).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
});

it('numbers follow the order of opening, and a step keeps its own', async () => {
  const { account } = await world({ opened: 3 });
  expect(account.openStep(3, undefined).opening).toMatchObject({ callNo: 3, step: 3 });
  expect(await account.reserve(CALL)).toBe(4);
  expect(account.openStep(4, undefined).opening).toMatchObject({ callNo: 5, step: 4 });
  expect(account.openStep(4, undefined).opening).toMatchObject({ callNo: 5, step: 4 });
});

it('a run holds all that it has reserved, and less when a call has ended', async () => {
  const { account, written } = await world({ monthly: '1' });
  const next = { costLimitUsd: '1', holdCostUsd: '0.02', holdTokens: 200 };
  expect(account.openStep(1, next).room?.()).toMatchObject({ reserve: { holdCostUsd: '0.02' } });
  const first = await account.reserve(CALL);
  const second = await account.reserve({ ...CALL, completionTokens: 0 });
  expect(written.at(-1)?.reserve).toMatchObject({ costLimitUsd: '1', holdCostUsd: '0.17', holdTokens: 1700 });
  await account.charge(first, made(1, 1));
  expect(written.at(-1)).toMatchObject({ hold: { costUsd: '0.07', tokens: 700 } });
  expect(written.at(-1)?.reserve).toBeUndefined();
  await account.charge(second, made(1, 1));
  expect(written.at(-1)?.hold).toEqual({ costUsd: '0.02', tokens: 200 });
  await account.chargeStep({ step: 1, ...made(1, 1) });
  expect(account.openStep(2, next).room?.()).toMatchObject({ reserve: { holdCostUsd: '0.02' } });
});

it('the room for the next step is given back while others work for the run, and taken again once', async () => {
  const { account, written } = await world({ monthly: '1' });
  expect(account.reclaimStep()).toBeUndefined();
  account.openStep(1, { costLimitUsd: '1', holdCostUsd: '0.02', holdTokens: 200 }).room?.();
  await Promise.all([account.yieldStep(), account.yieldStep()]);
  expect(written.map(({ hold }) => hold)).toEqual([{ costUsd: '0', tokens: 0 }]);
  await account.reclaimStep();
  expect(written.at(-1)?.reserve).toMatchObject({ holdCostUsd: '0.02', holdTokens: 200 });
  expect(account.reclaimStep()).toBeUndefined();
});

it('the room for the next step is taken again though the database is away for a moment', async () => {
  let failures = 0;
  const { account, written } = await world({ monthly: '1' }, (ledger) => ({
    ...ledger,
    record: (progress) =>
      progress.reserve !== undefined && failures++ === 0
        ? Promise.reject(new Error('it is away'))
        : ledger.record(progress),
  }));
  account.openStep(1, { costLimitUsd: '1', holdCostUsd: '0.02', holdTokens: 200 }).room?.();
  await account.yieldStep();
  await account.reclaimStep();
  expect(failures).toBe(2);
  expect(written.at(-1)?.reserve).toMatchObject({ holdTokens: 200 });
});

it('a run that waits for room keeps what its calls use, and asks with what it holds by then', async () => {
  const memory = createMemoryLedger();
  const { account, written } = await world({ monthly: '1' }, undefined, memory);
  const other = await world({ monthly: '1' }, undefined, memory);
  const first = await account.reserve(CALL);
  // A dollar in one call: until it has ended, no other may begin.
  const held = await other.account.reserve({ ...CALL, promptTokens: 9500 });
  const second = account.reserve({ ...CALL, promptTokens: 1500 });
  await eventually(() =>
    written.filter(({ reserve }) => reserve?.holdCostUsd === '0.3').length > 1 ? true : undefined,
  );
  expect(written.at(-1)?.hold).toEqual({ costUsd: '0.1', tokens: 1000 });
  await account.charge(first, made(1, 1));
  await eventually(() => (written.at(-1)?.reserve?.holdCostUsd === '0.2' ? true : undefined));
  expect(written.at(-1)?.hold).toBeUndefined();
  await other.account.charge(held, made(1, 1));
  await expect(second).resolves.toBe(2);
});

it('calls that are under way count towards the limit of the run', async () => {
  const { account } = await world({ maxCostUsd: '0.15' });
  const calls = [account.reserve(CALL), account.reserve(CALL), account.reserve(CALL)];
  const ended = await Promise.allSettled(calls);
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
});

it('a step is not taken when a call beside the steps has used up what the run may spend', async () => {
  const { account } = await world({ maxCostUsd: '0.15' });
  account.assertRoomBeside();
  await account.charge(await account.reserve(CALL), made(1000, 1000));
  expect(() => account.assertRoomBeside()).toThrow('limit');
});

it('a call that was refused is not listed as unknown usage', async () => {
  const { account, record, written } = await world({ monthly: '0.05' });
  await account.charge(await account.reserve(CALL), made(1000, 0));
  await expect(account.reserve(CALL)).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(account.unsent()).toEqual([2]);
  await record.settle({ state: 'done', result: {} as never, lastStep: 0, unsent: account.unsent() });
  expect(written.at(-1)?.end?.unsent).toEqual([2]);
});

it('a call of an unknown price is refused where money is limited, and the month is not asked', async () => {
  const { account, written } = await world({ monthly: '1' });
  await expect(account.reserve({ ...CALL, modelId: 'no/price' })).rejects.toMatchObject({ code: 'MODEL_UNPRICED' });
  expect(written).toEqual([]);
});

it('requests that were lost are put on record with their number', async () => {
  const { account, written } = await world();
  const callNo = await account.reserve(CALL);
  await expect(account.charge(callNo, lost(3))).resolves.toBeUndefined();
  expect(written.at(-1)?.opening).toMatchObject({ callNo, purpose: 'summarise', unansweredRequests: 3 });
});

it('a call that ends after the run is added all the same, and no other may begin', async () => {
  const { account, record, ledger } = await world();
  const callNo = await account.reserve(CALL);
  await record.settle({ state: 'done', result: {} as never, lastStep: 0 });
  await account.charge(callNo, made(400, 100));
  expect(ledger.calls('tenant')).toMatchObject([{ callNo, costUsd: '0.05' }]);
  await expect(account.reserve(CALL)).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
});

import { randomUUID } from 'node:crypto';

import type { AgentResult, ClaimRequest, LedgerStore, ModelCallRecord, RunProgress } from '../../runtime';
import type { Step, ToolCallEntry } from '../../runtime/contracts/ledger/journal';
import type { Family } from '../../runtime/contracts/ledger/ledger';
import type { SavedRun } from '../../runtime/contracts/ledger/progress';
import { usageOf } from '../support/values/usage-of';

/** A ledger under test, and a tenant that it knows. */
export interface LedgerUnderTest {
  readonly ledger: LedgerStore;
  readonly tenantId: string;
}

const LEASE_MS = 60_000;
const RESULT = {
  task_id: 'task',
  status: 'completed',
  result: { text: 'Done', tool_calls: [] },
} as unknown as AgentResult;
const BILL = { tier: 'small', taskType: 'ai_agent', modelRequested: 'a/model' };
const HOLD = { costLimitUsd: '1.00', holdCostUsd: '0.60', holdTokens: 10 };

const aCall = (step: number, costUsd = '0.25'): ModelCallRecord => ({
  step,
  modelRequested: 'a/model',
  modelBilled: 'a/model',
  usage: usageOf(100, 20),
  costUsd,
  unansweredRequests: 0,
});

const aStep = (step: number, sending: readonly number[] = []): Step => ({
  ...{ step, finishReason: 'tool-calls', durationMs: 1, wereDropped: false, sent: [], sending },
  message: {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call-${step}`, type: 'function', function: { name: 'pay', arguments: '{}' } }],
  },
  ...{ callCounts: { pay: step - 1 }, approvals: {}, spent: { costUsd: '0.25', tokens: 120 } },
});

const aResult = (step: number): ToolCallEntry => ({
  ...{ step, id: `call-${step}`, tool: 'pay', arguments: { n: step }, decision: 'allow', isRepeatable: false },
  ...{ wasSent: true, durationMs: 1, outcome: { isError: false, value: { paid: true } } },
});

const saved = (message: string, tenantId: string): SavedRun => ({
  task: { config: { message }, meta: { tenant_id: tenantId } } as SavedRun['task'],
  progress: {
    ...{ messages: [{ role: 'user', content: message }], steps: [], iterations: 1, callCounts: {} },
    ...{ approvals: { 'call-1': { arguments: { n: 1 } } }, spent: { costUsd: '0.25', tokens: 120 }, variables: {} },
  },
});

/** What every ledger does. `make` gives one whose tenant no other test uses. */
export function describeLedger(make: () => Promise<LedgerUnderTest>): void {
  let ledger: LedgerStore;
  let tenantId: string;
  beforeEach(async () => {
    ({ ledger, tenantId } = await make());
  });

  const request = (more: Partial<ClaimRequest> = {}): ClaimRequest => ({
    ...{ tenantId, taskId: 'task', runId: randomUUID(), digest: 'a digest', fresh: false, leaseMs: LEASE_MS },
    modelRequested: 'a/model',
    ...more,
  });
  const progress = ({ taskId, runId }: ClaimRequest, more: Partial<RunProgress> = {}): RunProgress => ({
    ...{ tenantId, taskId, runId, leaseMs: LEASE_MS, closed: [], bill: BILL },
    ...more,
  });
  const done = (run: ClaimRequest, more: Partial<RunProgress> = {}): RunProgress =>
    progress(run, { end: { state: 'done', result: RESULT, lastStep: 1 }, ...more });
  const failed = (run: ClaimRequest): RunProgress =>
    progress(run, { end: { state: 'failed', result: RESULT, lastStep: 1 } });
  const waiting = (run: ClaimRequest): RunProgress =>
    progress(run, { end: { state: 'waiting', result: RESULT, lastStep: 1, saved: saved('Pay', tenantId) } });
  const claimed = async (more: Partial<ClaimRequest> = {}): Promise<ClaimRequest> => {
    const asked = request(more);
    await expect(ledger.claim(asked)).resolves.toMatchObject({ kind: 'claimed' });
    return asked;
  };

  describe('a task', () => {
    it('is run by one, and waited for by others', async () => {
      await expect(ledger.claim(request())).resolves.toMatchObject({ kind: 'claimed', attempt: 1 });
      await expect(ledger.claim(request())).resolves.toEqual({ kind: 'running' });
    });

    it('that is done gives its result again, and keeps no journal', async () => {
      const run = await claimed();
      await ledger.record(progress(run, { journal: [aStep(1)] }));
      await expect(ledger.record(done(run))).resolves.toMatchObject({ isOurs: true });
      await expect(ledger.claim(request())).resolves.toEqual({ kind: 'done', result: RESULT });
    });

    it('is not run for another request under its id', async () => {
      await claimed();
      await expect(ledger.claim(request({ digest: 'another' }))).resolves.toEqual({ kind: 'conflict' });
    });

    it('is run anew when that is asked for, from the beginning', async () => {
      const run = await claimed();
      await ledger.record(done(run, { closed: [aCall(1)] }));
      const again = await ledger.claim(request({ fresh: true }));
      expect(again).toMatchObject({ kind: 'claimed', attempt: 2 });
      expect(again).not.toHaveProperty('journal.0');
    });

    it('that failed is gone on with, by its journal and what it has cost', async () => {
      const run = await claimed();
      const journal = [aStep(1, [0]), aResult(1)];
      await ledger.record(progress(run, { closed: [aCall(1)], journal }));
      await ledger.record(failed(run));
      const again = await ledger.claim(request());
      expect(again).toMatchObject({ kind: 'claimed', attempt: 2 });
      const { sending: _sent, ...step } = aStep(1);
      expect(again).toHaveProperty('journal', [{ ...step, sent: [0] }, aResult(1)]);
      if (again.kind !== 'claimed') throw new Error('it was not claimed');
      expect(Number(again.spent?.costUsd)).toBe(0.25);
      expect(again.spent?.tokens).toBe(120);
    });

    it('whose run was lost is taken over, and the lost one hears of it', async () => {
      const lost = await claimed({ leaseMs: -1 });
      await expect(ledger.claim(request())).resolves.toMatchObject({ kind: 'claimed', attempt: 2 });
      await expect(ledger.record(done(lost))).resolves.toMatchObject({ isOurs: false });
      await expect(ledger.claim(request())).resolves.toEqual({ kind: 'running' });
    });

    it('is not ended by a write that comes late', async () => {
      const run = await claimed();
      await ledger.record(done(run));
      await ledger.record(progress(run, { journal: [aStep(2)] }));
      await expect(ledger.claim(request())).resolves.toEqual({ kind: 'done', result: RESULT });
    });

    it('keeps the last of several entries for one step', async () => {
      const run = await claimed();
      await ledger.record(progress(run, { journal: [aStep(1)] }));
      await ledger.record(progress(run, { journal: [{ ...aStep(1), durationMs: 7 }] }));
      await ledger.record(failed(run));
      await expect(ledger.claim(request())).resolves.toMatchObject({ journal: [{ step: 1, durationMs: 7 }] });
    });
  });

  describe('money', () => {
    it('counts a call once, however often it is written', async () => {
      const run = await claimed();
      for (let times = 0; times < 3; times++) await ledger.record(progress(run, { closed: [aCall(1, '0.50')] }));
      await ledger.record(done(run));
      await claimed({ taskId: 'next', reserve: { ...HOLD, costLimitUsd: '0.51' } });
    });

    it.each([
      ['that costs', { call: aCall(1, '1.00'), full: { costLimitUsd: '1.00' }, free: { costLimitUsd: '1.01' } }],
      ['whose price is zero', { call: aCall(1, '0'), full: { tokenLimit: '120' }, free: { tokenLimit: '121' } }],
    ])('%s and cannot be billed leaves no room, and counts once when it is billed', async (_what, limits) => {
      const { call, full, free } = limits;
      const run = await claimed();
      const hold = { holdCostUsd: '0', holdTokens: 0 };
      const isFull = async (): Promise<void> => {
        const next = request({ taskId: randomUUID(), reserve: { ...hold, ...full } });
        await expect(ledger.claim(next)).resolves.toEqual({ kind: 'exceeded' });
        await claimed({ taskId: randomUUID(), reserve: { ...hold, ...free } });
      };
      for (const unbilled of [call, call]) await ledger.recordUnbilled(done(run, { closed: [unbilled] }));
      await expect(ledger.claim(request())).resolves.toEqual({ kind: 'done', result: RESULT });
      await isFull();
      await ledger.record(done(run, { closed: [call] }));
      await isFull();
      await ledger.recordUnbilled(progress(run, { closed: [call] }));
      await isFull();
    });

    it.each(['record', 'recordUnbilled'] as const)(
      'of a free tier does not count where it costs nothing: %s',
      async (write) => {
        const run = await claimed();
        const bill = { ...BILL, onlyWhatCosts: true };
        await ledger[write](done(run, { bill, closed: [aCall(1, '0')] }));
        await claimed({ taskId: 'next', reserve: { holdCostUsd: '0', holdTokens: 0, tokenLimit: '1' } });
      },
    );

    it('that could not be billed is told to the run that goes on', async () => {
      const run = await claimed();
      await ledger.recordUnbilled({ ...failed(run), closed: [aCall(1, '0.25')] });
      const again = await ledger.claim(request());
      expect(again).toMatchObject({ kind: 'claimed', attempt: 2, spent: { costUsd: '0.25', tokens: 120 } });
    });

    it('that is spent leaves no room in the month', async () => {
      const run = await claimed();
      await ledger.record(done(run, { closed: [aCall(1, '1.00')] }));
      await expect(ledger.claim(request({ taskId: 'next', reserve: HOLD }))).resolves.toEqual({ kind: 'exceeded' });
    });

    it('that is held by a run under way is waited for, until that run ends', async () => {
      const first = await claimed({ reserve: HOLD });
      const second = await claimed({ taskId: 'second', reserve: HOLD });
      await expect(ledger.claim(request({ taskId: 'third', reserve: HOLD }))).resolves.toEqual({ kind: 'wait' });
      await ledger.record(done(first));
      await ledger.record(done(second));
      await claimed({ taskId: 'third', reserve: HOLD });
    });

    it('is reserved for the next call together with what the last one has cost', async () => {
      const run = await claimed({ reserve: HOLD });
      const next = (cost: string, step: number): RunProgress => {
        const opening = { step: step + 1, modelRequested: 'a/model' };
        return progress(run, { closed: [aCall(step, cost)], opening, reserve: HOLD });
      };
      await expect(ledger.record(next('0.25', 1))).resolves.toMatchObject({ isOurs: true, budget: 'ok' });
      await expect(ledger.record(next('0.80', 2))).resolves.toMatchObject({ budget: 'exceeded' });
    });

    it('that a task without a bill costs takes nothing of the month', async () => {
      const run = await claimed();
      await ledger.record(done(run, { closed: [aCall(1, '5.00')], bill: undefined }));
      await claimed({ taskId: 'next', reserve: HOLD });
    });
  });

  describe('limits', () => {
    it('of runs a minute say when there is room again, and take nothing for a replay', async () => {
      const run = await claimed({ runsPerMinute: 2 });
      await ledger.record(done(run));
      await expect(ledger.claim(request({ runsPerMinute: 2 }))).resolves.toMatchObject({ kind: 'done' });
      await claimed({ taskId: 'second', runsPerMinute: 2 });
      const refused = await ledger.claim(request({ taskId: 'third', runsPerMinute: 2 }));
      expect(refused.kind).toBe('limited');
      expect(refused).toHaveProperty('seconds', expect.any(Number));
    });

    it('of a tool refuse the call that is one too many, in a run', async () => {
      const run = await claimed();
      const taking = ['a', 'b'].map((toolCallId) => ({ toolCallId, tool: 'pay', callsPerMinute: 1 }));
      await expect(ledger.record(progress(run, { taking }))).resolves.toMatchObject({
        refused: [{ toolCallId: 'b', reason: 'minute_limit_exceeded' }],
      });
    });

    it('of an agent count for that agent alone', async () => {
      const run = await claimed();
      const take = (agent: string): ReturnType<LedgerStore['record']> => {
        const call = { toolCallId: randomUUID(), tool: 'pay', ofAgent: { agent, callsPerDay: 1 } };
        return ledger.record(progress(run, { taking: [call] }));
      };
      const refusals = [await take('one'), await take('one'), await take('other')].map(({ refused = [] }) => refused);
      expect(refusals.map((all) => all.map(({ reason }) => reason))).toEqual([[], ['day_limit_exceeded'], []]);
    });
  });

  describe('a run that works for another one', () => {
    const familyOf = ({ taskId, runId }: ClaimRequest): Family => ({
      rootTaskId: taskId,
      above: [runId],
      parentCallId: 'call-1',
    });

    it('has room where that one alone holds the rest of the month, and others wait for both', async () => {
      const root = await claimed({ reserve: HOLD });
      const child = { taskId: 'task/call-1', family: familyOf(root), reserve: { ...HOLD, holdCostUsd: '0.30' } };
      await claimed({ taskId: 'first', reserve: { ...HOLD, holdCostUsd: '0.20' } });
      const run = await claimed(child);
      await expect(ledger.record(progress(run, child))).resolves.toMatchObject({ budget: 'ok' });
      const other = request({ taskId: 'other', reserve: HOLD });
      await expect(ledger.claim(other)).resolves.toEqual({ kind: 'wait' });
      await ledger.record(done(run));
      await claimed({ taskId: 'other', reserve: HOLD });
    });

    it('is told to the run above it that goes on, with what it has spent', async () => {
      const root = await claimed();
      const family = familyOf(root);
      await ledger.record(progress(root, { closed: [aCall(1, '0.25')] }));
      const child = await claimed({ taskId: 'task/call-1', family });
      await ledger.record(done(child, { family, closed: [aCall(1, '0.50')] }));
      await ledger.record(failed(root));
      const again = await ledger.claim(request());
      if (again.kind !== 'claimed') throw new Error('it was not claimed');
      expect([Number(again.spent?.costUsd), again.spent?.tokens]).toEqual([0.75, 240]);
    });

    it('waits and goes on under its root alone', async () => {
      const root = await claimed();
      const family = familyOf(root);
      const child = await claimed({ taskId: 'task/call-1', family });
      await ledger.record({ ...waiting(child), family });
      const found = { tenantId, runId: child.runId };
      await expect(ledger.findSaved(found)).resolves.toBeUndefined();
      await expect(ledger.findSaved({ ...found, rootTaskId: 'task' })).resolves.toMatchObject({ task: {} });
      const approval = { tenantId, waitedRunId: child.runId, decision: 'approve', leaseMs: LEASE_MS } as const;
      await expect(ledger.resume({ ...approval, runId: randomUUID() })).resolves.toEqual({ kind: 'unknown' });
      const resumed = await ledger.resume({ ...approval, runId: randomUUID(), family });
      expect(resumed).toMatchObject({ kind: 'claimed', taskId: 'task/call-1' });
    });
  });

  describe('what a run holds', () => {
    it('is kept where there is no room for more, and is set without asking for any', async () => {
      const run = await claimed({ reserve: { ...HOLD, holdCostUsd: '0.20' } });
      const other = await claimed({ taskId: 'other', reserve: { ...HOLD, holdCostUsd: '0.50' } });
      const next = (limit: string) =>
        ledger.claim(
          request({ taskId: randomUUID(), reserve: { costLimitUsd: limit, holdCostUsd: '0', holdTokens: 0 } }),
        );
      // The other one holds half a dollar, so there is no room below that.
      const asking = { reserve: { costLimitUsd: '0.50', holdCostUsd: '0.90', holdTokens: 10 } };
      const hold = { costUsd: '0.10', tokens: 10 };
      await expect(ledger.record(progress(run, { ...asking, hold }))).resolves.toMatchObject({ budget: 'wait' });
      await expect(next('0.60')).resolves.toEqual({ kind: 'wait' });
      await expect(next('0.61')).resolves.toMatchObject({ kind: 'claimed' });
      await ledger.record(progress(run, { hold: { costUsd: '0.05', tokens: 5 } }));
      await expect(next('0.56')).resolves.toMatchObject({ kind: 'claimed' });
      await ledger.record(done(other));
    });
  });

  describe('a run that waits', () => {
    const approval = ({ runId }: { readonly runId: string }) => ({
      ...{ tenantId, waitedRunId: runId, leaseMs: LEASE_MS },
      decision: 'approve' as const,
    });

    it('is found and gone on with once, and answers the same approval again', async () => {
      const run = await claimed();
      await ledger.record(waiting(run));
      await expect(ledger.findSaved(run)).resolves.toEqual(saved('Pay', tenantId));
      const resume = { ...approval(run), runId: randomUUID() };
      await expect(ledger.resume(resume)).resolves.toMatchObject({
        ...{ kind: 'claimed', taskId: 'task', saved: saved('Pay', tenantId), journal: [] },
      });
      await expect(ledger.resume({ ...resume, runId: randomUUID() })).resolves.toMatchObject({ kind: 'running' });
      await ledger.record(done({ ...run, runId: resume.runId }));
      await expect(ledger.resume({ ...resume, runId: randomUUID() })).resolves.toMatchObject({
        kind: 'done',
        result: RESULT,
      });
      await expect(ledger.findSaved(run)).resolves.toBeUndefined();
    });

    it('may be gone on with again when the run that did so failed', async () => {
      const run = await claimed();
      await ledger.record(waiting(run));
      const resume = approval(run);
      const second = randomUUID();
      await ledger.resume({ ...resume, runId: second });
      await ledger.record(failed({ ...run, runId: second }));
      await expect(ledger.findSaved(run)).resolves.toEqual(saved('Pay', tenantId));
      await expect(ledger.resume({ ...resume, runId: randomUUID() })).resolves.toMatchObject({ kind: 'claimed' });
    });

    it('is decided once: another decision is contradicted, by whom and when the first one was made', async () => {
      const run = await claimed();
      await ledger.record(waiting(run));
      const denied = { ...approval(run), decision: 'deny' as const, decidedBy: 'somebody else' };
      const again = { ...approval(run), decidedBy: 'boss' };
      const second = randomUUID();
      await expect(ledger.resume({ ...again, runId: second })).resolves.toMatchObject({ kind: 'claimed' });
      const first = {
        kind: 'contradicted',
        decision: 'approve',
        decidedBy: 'boss',
        decidedAt: expect.any(Date) as Date,
      };
      const deny = () => ledger.resume({ ...denied, runId: randomUUID() });
      // While the run goes on, when it has failed, when it was gone on with and is done.
      await expect(deny()).resolves.toEqual(first);
      await ledger.record(failed({ ...run, runId: second }));
      await expect(deny()).resolves.toEqual(first);
      const third = randomUUID();
      await expect(ledger.resume({ ...again, decidedBy: 'other', runId: third })).resolves.toMatchObject({
        kind: 'claimed',
        decidedBy: 'boss',
      });
      await ledger.record(done({ ...run, runId: third }));
      await expect(deny()).resolves.toEqual(first);
      await expect(ledger.resume({ ...again, runId: randomUUID() })).resolves.toMatchObject({ kind: 'done' });
    });

    it('is decided anew when the run waits again', async () => {
      const run = await claimed();
      await ledger.record(waiting(run));
      const second = { ...run, runId: randomUUID() };
      await ledger.resume({ ...approval(run), runId: second.runId });
      await ledger.record(waiting(second));
      const deny = { ...approval(second), decision: 'deny' as const, runId: randomUUID() };
      await expect(ledger.resume(deny)).resolves.toMatchObject({ kind: 'claimed' });
    });

    it('is unknown when there is none', async () => {
      const resume = { ...approval({ runId: randomUUID() }), runId: randomUUID() };
      await expect(ledger.resume(resume)).resolves.toEqual({ kind: 'unknown' });
      await expect(ledger.findSaved({ tenantId, runId: randomUUID() })).resolves.toBeUndefined();
    });
  });

  it('knows its own runs, and tells itself from others', async () => {
    const run = await claimed();
    await expect(ledger.knows(run)).resolves.toBe(true);
    await expect(ledger.knows({ ...run, taskId: 'other', runId: randomUUID() })).resolves.toBe(false);
    await expect(ledger.identify()).resolves.toBe(await ledger.identify());
  });
}

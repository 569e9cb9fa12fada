import { randomUUID } from 'node:crypto';

import type { AgentResult } from '../../runtime';
import type { RunKey } from '../../runtime/contracts/ledger/ledger';
import type { NewTurn, SessionKey, SessionRecord, SessionStore } from '../../runtime/contracts/ledger/session';
import type { LedgerUnderTest } from './ledger';

const RESULT = { status: 'completed', result: { text: 'Done', tool_calls: [] } } as unknown as AgentResult;
const LIMITS = { windowTokens: 1000, days: 30 };

/** What every ledger that keeps conversations does. `make` gives one whose tenants no other test uses. */
export function describeSessions(make: () => Promise<LedgerUnderTest>, leaseMs = 60_000): void {
  const opened = async (): Promise<World> => worldOf(await make(), leaseMs);

  it('keeps turns in the order in which their runs end, each once', async () => {
    const { begin, end, load } = await opened();
    const [first, second] = [await begin(), await begin()];
    await end(second, turn('two'));
    await end(first, turn('one'));
    await end(first, turn('one'));
    expect(texts(await load())).toEqual(['two', 'Said two', 'one', 'Said one']);
  });

  it('keeps calls of tools as they were', async () => {
    const { begin, end, load } = await opened();
    const messages: NewTurn['messages'] = [
      { message: { role: 'user', content: 'Add 9007199254740993' }, tokens: 3 },
      {
        tokens: 4,
        message: {
          ...{ role: 'assistant', content: null },
          tool_calls: [
            { id: 'call-1', type: 'function', function: { name: 'add', arguments: '{"n":9007199254740993}' } },
          ],
        },
      },
      { message: { role: 'tool', tool_call_id: 'call-1', content: '"done"' }, tokens: 2 },
      { message: { role: 'assistant', content: '' }, tokens: 1 },
    ];
    await end(await begin(), { ...turn('x'), messages });
    expect((await load()).turns).toEqual([{ turn: 1, messages }]);
  });

  it('is apart for each agent, session and tenant', async () => {
    const { begin, end, sessions, tenantId } = await opened();
    const other = await opened();
    await end(await begin(), turn('hello'));
    const key = { tenantId, agent: '', sessionId: 's-1' };
    const others = [
      { ...key, agent: 'support' },
      { ...key, sessionId: 's-2' },
      { ...key, tenantId: other.tenantId },
    ];
    expect(texts(await sessions.load(key, LIMITS))).toEqual(['hello', 'Said hello']);
    for (const session of others) {
      expect(await (session.tenantId === tenantId ? sessions : other.sessions).load(session, LIMITS)).toEqual({
        turns: [],
      });
    }
  });

  it('adds nothing for a run that was taken over, that waits or that failed', async () => {
    const { begin, end, load, ledger } = await opened();
    const run = await begin();
    await ledger.record({ ...run, leaseMs, closed: [], end: { state: 'failed', result: RESULT, lastStep: 1 } });
    const again = await begin(run.taskId);
    await end(run, turn('lost'));
    expect(await load()).toEqual({ turns: [] });
    await end(again, turn('kept'));
    expect(texts(await load())).toEqual(['kept', 'Said kept']);
  });

  it('keeps the turn of an end that the bill refuses, once', async () => {
    const { begin, end, load, ledger } = await opened();
    const run = await begin();
    const write = {
      ...run,
      leaseMs,
      closed: [],
      end: { state: 'done' as const, result: RESULT, lastStep: 1, turn: turn('late') },
    };
    await ledger.recordUnbilled(write);
    await ledger.recordUnbilled(write);
    await end(run, turn('late'));
    expect(texts(await load())).toEqual(['late', 'Said late']);
  });

  it('lets one run at a time have a session, in the order in which they came', async () => {
    const { begin, end, hold } = await opened();
    const [first, second, third] = [await begin(), await begin(), await begin()];
    expect([await hold(first), await hold(second), await hold(third), await hold(first)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    await end(first, turn('one'));
    expect([await hold(third), await hold(second)]).toEqual([false, true]);
    await end(second, turn('two'));
    expect(await hold(third)).toBe(true);
  });

  it('lets a session go when its run fails or waits for a person', async () => {
    const { begin, hold, ledger } = await opened();
    const [first, second, third] = [await begin(), await begin(), await begin()];
    expect([await hold(first), await hold(second), await hold(third)]).toEqual([true, false, false]);
    await ledger.record({ ...first, leaseMs, closed: [], end: { state: 'failed', result: RESULT, lastStep: 1 } });
    expect(await hold(second)).toBe(true);
    const saved = { task: {}, progress: {} } as never;
    await ledger.record({
      ...second,
      leaseMs,
      closed: [],
      end: { state: 'waiting', result: RESULT, lastStep: 1, saved },
    });
    expect(await hold(third)).toBe(true);
  });

  it('begins after the last summary', async () => {
    const { begin, end, load, sessions, key } = await opened();
    for (const text of ['one', 'two', 'three']) await end(await begin(), turn(text));
    const run = await begin();
    await sessions.addSummary(key, run, { text: 'Counted to one.', tokens: 5, turn: 1 });
    await sessions.addSummary(key, run, { text: 'Counted to two.', tokens: 6, turn: 2 });
    await end(run, turn('four'));
    const record = await load();
    expect(record.summary).toEqual({ text: 'Counted to two.', tokens: 6, turn: 2 });
    expect(texts(record)).toEqual(['three', 'Said three', 'four', 'Said four']);
    expect(record.turns.map((one) => one.turn)).toEqual([3, 4]);
  });

  it('reads whole turns, the newest, up to so many tokens; the last one always', async () => {
    const { begin, end, sessions, key } = await opened();
    // Each counts 4,000 of 100,000 tokens that are read.
    const large = (text: string): NewTurn => {
      const { messages, ...rest } = turn(text);
      return { ...rest, messages: messages.map(({ message }) => ({ message, tokens: 50_000 })) };
    };
    for (let n = 1; n <= 27; n++) await end(await begin(), large(String(n)));
    const read = await sessions.load(key, LIMITS);
    expect(read.turns.map((one) => one.turn)).toEqual(Array.from({ length: 25 }, (_, index) => index + 3));
    const { turns } = await sessions.load(key, { ...LIMITS, windowTokens: 13_500 });
    expect(turns).toHaveLength(27);
    await end(await begin(), { ...turn('x'), messages: Array.from({ length: 60 }, () => large('y').messages).flat() });
    expect(texts(await sessions.load(key, LIMITS))).toHaveLength(120);
  });
}

interface World extends LedgerUnderTest {
  readonly sessions: SessionStore;
  readonly key: SessionKey;
  /** Claims a run, of a task of its own unless one is named. */
  readonly begin: (taskId?: string) => Promise<RunKey>;
  readonly end: (run: RunKey, turn: NewTurn) => Promise<unknown>;
  readonly hold: (run: RunKey) => Promise<boolean>;
  readonly load: () => Promise<SessionRecord>;
}

function worldOf({ ledger, tenantId }: LedgerUnderTest, leaseMs: number): World {
  const { sessions } = ledger;
  if (sessions === undefined) throw new Error('this ledger keeps no conversations');
  const key = { tenantId, agent: '', sessionId: 's-1' };
  return {
    ...{ ledger, tenantId, sessions, key },
    begin: async (taskId = randomUUID()) => {
      const run = { tenantId, taskId, runId: randomUUID() };
      const claim = await ledger.claim({
        ...run,
        digest: 'a digest',
        fresh: false,
        leaseMs,
        modelRequested: 'a/model',
      });
      if (claim.kind !== 'claimed') throw new Error(`the task is ${claim.kind}`);
      return run;
    },
    end: (run, given) =>
      ledger.record({ ...run, leaseMs, closed: [], end: { state: 'done', result: RESULT, lastStep: 1, turn: given } }),
    hold: ({ runId }) => sessions.hold(key, runId),
    load: () => sessions.load(key, LIMITS),
  };
}

const turn = (text: string): NewTurn => ({
  ...{ agent: '', sessionId: 's-1', tokens: 100, costUsd: '0.25' },
  messages: [
    { message: { role: 'user', content: text }, tokens: 10 },
    { message: { role: 'assistant', content: `Said ${text}` }, tokens: 10 },
  ],
});

const texts = ({ turns }: SessionRecord): readonly unknown[] =>
  turns.flatMap(({ messages }) => messages.map(({ message }) => message.content));

import type { SessionRecord, SessionTurn } from '../../../runtime/contracts/ledger/session';
import { fitWindow, messagesOf, withoutSummary } from '../../../runtime/run/sessions/window';

/** A turn of so many tokens; with a tool result of so many more. */
const turn = (number: number, tokens: number, result?: number): SessionTurn => ({
  turn: number,
  messages: [
    { message: { role: 'user', content: `Question ${number}` }, tokens: tokens / 2 },
    ...(result === undefined ? [] : withTool(number, result)),
    { message: { role: 'assistant', content: `Answer ${number}` }, tokens: tokens / 2 },
  ],
});
const withTool = (number: number, tokens: number): SessionTurn['messages'] => [
  {
    tokens: 0,
    message: {
      ...{ role: 'assistant', content: null },
      tool_calls: [{ id: `call-${number}`, type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
  },
  { message: { role: 'tool', tool_call_id: `call-${number}`, content: `Result ${number}` }, tokens },
];
const summary = (tokens: number) => ({ text: 'x'.repeat(tokens * 4), tokens, turn: 0 });
const sizeOf = ({ summary: before, turns }: SessionRecord): number =>
  turns.flatMap(({ messages }) => messages).reduce((sum, { tokens }) => sum + tokens, before?.tokens ?? 0);
const numbers = (turns: readonly SessionTurn[] = []): readonly number[] => turns.map((one) => one.turn);
const results = (record: SessionRecord): readonly unknown[] =>
  messagesOf(record).flatMap((message) => (message.role === 'tool' ? [message.content] : []));

it('leaves a record as it is that fits', () => {
  const record = { turns: [turn(1, 40, 20), turn(2, 40)] };
  expect(fitWindow(record, 100)).toEqual({ record });
});

it('removes old tool results first, but those of the last turn', () => {
  const { record, leaving } = fitWindow({ turns: [turn(1, 20, 500), turn(2, 20, 300), turn(3, 20, 30)] }, 200);
  expect(leaving).toBeUndefined();
  expect(results(record)).toEqual([
    expect.stringMatching('was removed'),
    expect.stringMatching('was removed'),
    'Result 3',
  ]);
  expect(sizeOf(record)).toBeLessThanOrEqual(200);
});

it('lets whole turns leave, until half of the window is free', () => {
  const given = { turns: [1, 2, 3, 4, 5, 6].map((number) => turn(number, 40, number === 2 ? 400 : undefined)) };
  const { record, leaving } = fitWindow(given, 200);
  expect(numbers(leaving)).toEqual([1, 2, 3, 4]);
  expect(numbers(record.turns)).toEqual([5, 6]);
  // What leaves is told to the model that sums it up as it was.
  expect(leaving).toEqual(given.turns.slice(0, 4));
});

it.each([
  ['results of the last turn that are large', [turn(1, 100), turn(2, 20, 1000)], 200, [1, 2]],
  ['results and turns that are large', [turn(1, 100), turn(2, 100), turn(3, 20, 1000)], 200, [3]],
  ['a last turn that is too large without its results too', [turn(1, 100), turn(2, 1000)], 200, []],
])('holds the window with %s', (...[, turns, limit, kept]) => {
  const { record, leaving } = fitWindow({ turns }, limit);
  expect(numbers(record.turns)).toEqual(kept);
  expect(numbers(leaving)).toEqual(numbers(turns).filter((number) => !kept.includes(number)));
  expect(sizeOf(record)).toBeLessThanOrEqual(limit * 0.75);
});

it('holds the window for any record, with a summary of any size and without one', () => {
  let seed = 7;
  const random = (most: number): number => (seed = (seed * 16807) % 2147483647) % most;
  for (let round = 0; round < 500; round++) {
    const turns = Array.from({ length: random(12) }, (_, index) =>
      turn(index + 1, 2 + random(200), random(2) === 0 ? random(2000) : undefined),
    );
    const given = { ...(random(2) === 0 ? {} : { summary: summary(random(300)) }), turns };
    const limit = 1 + random(800);
    const { record, leaving } = fitWindow(given, limit);
    const fits = leaving === undefined ? record : { ...record, summary: summary(random(1 + limit / 4)) };
    expect(sizeOf(fits)).toBeLessThanOrEqual(limit);
    expect(sizeOf(withoutSummary(given, limit))).toBeLessThanOrEqual(limit);
    expect([...numbers(leaving), ...numbers(record.turns)]).toEqual(numbers(turns));
  }
});

it('has a summary written anew that is too long for a window that became smaller', () => {
  const given = { summary: summary(60), turns: [turn(1, 20), turn(2, 20)] };
  expect(fitWindow(given, 400).leaving).toBeUndefined();
  const { record, leaving } = fitWindow(given, 200);
  expect(record.summary).toBeUndefined();
  expect([leaving, record.turns]).toEqual([[], given.turns]);
});

it('has each id of a call once', () => {
  const same = turn(2, 40, 20);
  const messages = same.messages.map(
    (one) => JSON.parse(JSON.stringify(one).replaceAll('call-2', 'call-1')) as typeof one,
  );
  const said = messagesOf({ turns: [turn(1, 40, 20), { ...same, messages }] });
  const called = said.flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []).map(({ id }) => id) : []));
  const answered = said.flatMap((one) => (one.role === 'tool' ? one.tool_call_id : []));
  expect(called).toEqual(['call-1', 'call_t2_0']);
  expect(answered).toEqual(called);
});

import type { AgentResult, Tool } from '../../../runtime';
import { countTokens } from '../../../runtime/util/text/count-tokens';
import { addTenant } from '../../support/servers/database';
import { type ModelServerRequest, type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

const WINDOW = 400;
const findRows: Tool = {
  ...echoTool,
  definition: { name: 'find_rows', description: 'Finds rows', inputSchema: { type: 'object' } },
  execute: () => Promise.resolve({ isError: false, value: words(350, 'row') }),
};
let fixture: AgentFixture;
let tenantId: string;
beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, findRows] }));
});
afterAll(() => fixture.close());
beforeEach(async () => {
  tenantId = await addTenant(fixture.database, { settings: { session_window_tokens: WINDOW } });
  fixture.models.received.length = 0;
});

const words = (count: number, word = 'word'): string => Array.from({ length: count }, () => word).join(' ');
const say = (message: string, config: Record<string, unknown> = {}): Promise<AgentResult> =>
  fixture.runtime.run(aTask(tenantId, { message, session_id: 's-1', ...config }));
const isSummary = ({ messages }: ModelServerRequest): boolean =>
  messages[0]?.content?.includes('memory of a conversation') === true;
const asksForSummary = (): readonly ModelServerRequest[] => fixture.models.received.filter(isSummary);
const lastAsked = (): ModelServerRequest =>
  fixture.models.received.findLast((request) => !isSummary(request)) as ModelServerRequest;
/** The tokens of what was said before the last message. */
const sizeBefore = async ({ messages }: ModelServerRequest): Promise<number> => {
  const said = messages
    .slice(0, -1)
    .map(({ content, tool_calls: calls = [] }) => [content, JSON.stringify(calls)].join(' '));
  return countTokens(said.join('\n'));
};
const results = (): readonly unknown[] =>
  lastAsked().messages.flatMap(({ role, content }) => (role === 'tool' ? [content?.slice(0, 8)] : []));
const rows = (kind: string) =>
  fixture.database.query<{ turn: number; content: string; role: string }>(
    'SELECT turn, content, role FROM elo_agent_session_messages WHERE tenant_id = $1 AND kind = $2 ORDER BY no',
    [tenantId, kind],
  );
const answers = (reply: (request: ModelServerRequest) => ScriptedReply): void =>
  fixture.models.always((request) => (reply(request) as { body: unknown }).body);

it('leaves older turns to a summary, which is marked, billed and made seldom; the record keeps all of them', async () => {
  answers((request) => textReply(isSummary(request) ? 'They said word </summary> often.' : 'Yes.'));
  const sizes: number[] = [];
  for (let turn = 1; turn <= 20; turn++) {
    const result = await say(`Turn ${turn}: ${words(80)}`);
    sizes.push(await sizeBefore(lastAsked()));
    expect(result.warnings).toEqual([]);
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW);
  expect(Math.max(...sizes)).toBeGreaterThan(WINDOW / 2);
  expect(await rows('message')).toHaveLength(40);
  const made = asksForSummary();
  expect(made.length).toBeGreaterThan(3);
  expect(made.length).toBeLessThan(10);
  expect(await rows('summary')).toHaveLength(made.length);
  // Each stands for the one before it too.
  expect(made[1]?.messages[1]?.content).toContain('They said word \\u003c/summary> often.');
  expect(made[0]?.tools).toBeUndefined();
  const [first] = lastAsked().messages;
  expect(first).toMatchObject({
    role: 'user',
    content: containing(
      '<summary_of_earlier_conversation>\nThey said word \\u003c/summary> often.\n</summary_of_earlier_conversation>\n\nTurn ',
    ),
  });
  const calls = await fixture.database.query<{ purpose: string; count: number }>(
    'SELECT purpose, count(*)::int FROM elo_agent_model_calls WHERE tenant_id = $1 AND closed_at IS NOT NULL GROUP BY 1 ORDER BY 1',
    [tenantId],
  );
  expect(calls).toEqual([
    { purpose: 'step', count: 20 },
    { purpose: 'summarise', count: made.length },
  ]);
  const [bill] = await fixture.database.query<{ calls: number; tokens: number }>(
    'SELECT sum(model_calls)::int AS calls, sum(total_tokens)::int AS tokens FROM elo_t_token_usage WHERE tenant_id = $1',
    [tenantId],
  );
  expect(bill).toEqual({ calls: 20 + made.length, tokens: (20 + made.length) * 120 });
});

it('removes old tool results before a turn leaves', async () => {
  fixture.models.script(toolReply([{ name: 'find_rows', id: 'a' }]), textReply('Found.'));
  await say('Find the rows');
  fixture.models.script(toolReply([{ name: 'echo', arguments: { n: 1 }, id: 'b' }]), textReply('One.'));
  await say(`Find one of ${words(40)}`);
  expect(results()).toEqual(['"row row', '{"n":1}']);
  fixture.models.script(textReply('Bye.'));
  await say('Bye');
  expect(results()).toEqual(['[The res', '{"n":1}']);
});

it('goes on with what fits where no summary can be made, says so, and tries again', async () => {
  const down: ScriptedReply = { status: 500, body: { error: { message: 'The summary is down.' } } };
  answers(() => textReply('Yes.'));
  for (let turn = 1; turn <= 5; turn++) await say(`Turn ${turn}: ${words(80)}`);
  fixture.models.script(down);
  const result = await say(`Turn 6: ${words(80)}`);
  expect(result).toMatchObject({
    result: { text: 'Yes.' },
    warnings: [{ code: 'SESSION_NOT_SUMMARISED', message: containing('The summary is down.') }],
  });
  const before = lastAsked().messages.slice(0, -1);
  expect(before[0]?.content).toMatch(/^Turn [23]:/);
  expect(await sizeBefore(lastAsked())).toBeLessThanOrEqual(WINDOW);
  expect(await rows('summary')).toEqual([]);
  fixture.models.script(textReply('Summed up.'));
  expect((await say('Turn 7')).warnings).toEqual([]);
  expect(lastAsked().messages[0]?.content).toContain('Summed up.');
});

it('cuts a summary that is too long, and one without words counts as none', async () => {
  answers((request) => textReply(isSummary(request) ? words(4000, 'long') : 'Yes.'));
  for (let turn = 1; turn <= 6; turn++) await say(`Turn ${turn}: ${words(80)}`);
  expect(await sizeBefore(lastAsked())).toBeLessThanOrEqual(WINDOW);
  answers((request) => textReply(isSummary(request) ? '<think>Hm.</think>' : 'Yes.'));
  for (let turn = 7; turn <= 8; turn++) await say(`Turn ${turn}: ${words(80)}`);
  const result = await say('And?');
  expect(result.warnings.map(({ code }) => code)).toEqual(['SESSION_NOT_SUMMARISED']);
});

it('pays for summaries from the budget of the run and of the tenant', async () => {
  answers(() => textReply('Yes.'));
  for (let turn = 1; turn <= 5; turn++) await say(`Turn ${turn}: ${words(80)}`);
  // The summary uses up what the run may use.
  const failure = await failureOf(say(`Turn 6: ${words(80)}`, { max_total_tokens: 120 }));
  expect(failure).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(failure.result).toMatchObject({ tokens: { total: 120 } });
  expect(await rows('summary')).toHaveLength(1);
});

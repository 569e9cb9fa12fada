import { randomUUID } from 'node:crypto';

import type { AgentResult, Memory } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { heldReply } from '../../support/values/held-reply';
import { runsInQueue } from '../../support/worlds/session-queue';

let fixture: AgentFixture;
let servers: TestServer;
beforeAll(async () => {
  fixture = await startAgentFixture();
  servers = await startServer((_request, response) => sendJson(response, { sent: true }));
});
afterAll(async () => {
  await fixture.close();
  await servers.close();
});
beforeEach(() => {
  fixture.models.received.length = 0;
});

interface Said {
  readonly tenantId?: string;
  readonly message?: string;
  readonly config?: Record<string, unknown>;
}

const said = (session: string, { tenantId = fixture.tenantId, message = 'Hello', config = {} }: Said = {}) =>
  aTask(tenantId, { message, session_id: session, ...config });
const say = async (session: string, given: Said = {}, ...replies: ScriptedReply[]): Promise<AgentResult> => {
  if (replies.length > 0) fixture.models.script(...replies);
  return fixture.runtime.run(said(session, given));
};
const sent = (at = -1) => (fixture.models.received.at(at)?.messages ?? []).map(({ role, content }) => [role, content]);
const rows = (session: string, tenantId = fixture.tenantId) =>
  fixture.database.query<{ turn: number; kind: string; role: string; content: string; tool_calls: unknown }>(
    `SELECT message.turn, message.kind, message.role, message.content, message.tool_calls, message.tokens, message.run_tokens, message.cost_usd
    FROM elo_agent_session_messages AS message JOIN elo_agent_sessions AS session ON session.id = message.session
    WHERE session.session_id = $1 AND session.tenant_id = $2 ORDER BY message.no`,
    [session, tenantId],
  );

describe('a session', () => {
  it('is remembered by its id alone', async () => {
    const session = randomUUID();
    const first = await say(session, { message: 'My name is Ann.' }, textReply('Hello Ann.'));
    expect(first).toMatchObject({ session_id: session });
    const config = { system_prompt: 'Be kind.' };
    await say(session, { message: 'Who am I?', config }, textReply('Ann.'));
    expect(sent()).toEqual([
      ['system', 'Be kind.'],
      ['user', 'My name is Ann.'],
      ['assistant', 'Hello Ann.'],
      ['user', 'Who am I?'],
    ]);
  });

  it('keeps the steps with tools, what each turn has used, and no context', async () => {
    const session = randomUUID();
    const message = 'Count.';
    const config = { context: { client: 7 } };
    await say(session, { message, config }, toolReply([{ name: 'echo', arguments: { n: 1 } }]), textReply('One.'));
    await say(session, { message: 'And?' }, textReply('Two.'));
    expect(sent().map(([role]) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(sent()[0]).toEqual(['user', 'Count.']);
    const used = { run_tokens: '240', cost_usd: containing('0.') };
    expect(await rows(session)).toMatchObject([
      { turn: 1, kind: 'message', role: 'user', content: 'Count.', run_tokens: null },
      { turn: 1, role: 'assistant', content: null, tool_calls: [{ function: { name: 'echo' } }] },
      { turn: 1, role: 'tool', content: '{"n":1}' },
      { turn: 1, role: 'assistant', content: 'One.', ...used },
      { turn: 2, role: 'user', content: 'And?' },
      { turn: 2, role: 'assistant', content: 'Two.', ...used, run_tokens: '120' },
    ]);
  });

  it('leaves calls of tools out for a run that has none: providers refuse them', async () => {
    const session = randomUUID();
    await say(session, { message: 'Count.' }, toolReply([{ name: 'echo' }]), textReply('One.'));
    await say(session, { message: 'And?', config: { disabled_tools: ['echo'] } }, textReply('Two.'));
    expect(sent()).toEqual([
      ['user', 'Count.'],
      ['assistant', 'One.'],
      ['user', 'And?'],
    ]);
  });

  it('names the run in bill and audit where meta names no session, and is not that of meta', async () => {
    const session = randomUUID();
    const task = said(session);
    const other = { ...said(session), meta: { tenant_id: fixture.tenantId, session_id: 'chat-7' } };
    const plain = { ...aTask(fixture.tenantId), meta: { tenant_id: fixture.tenantId, session_id: session } };
    fixture.models.script(textReply('one'), textReply('two'), textReply('three'));
    await fixture.runtime.run(task);
    await fixture.runtime.run(other);
    expect(await fixture.runtime.run(plain)).not.toHaveProperty('session_id');
    expect(sent()).toHaveLength(1);
    const billed = async ({ task_id }: { readonly task_id: string }) => (await fixture.usageRows(task_id))[0];
    expect(await billed(task)).toMatchObject({ run_session_id: session });
    expect(await billed(other)).toMatchObject({ run_session_id: 'chat-7' });
    expect((await rows(session)).map(({ turn }) => turn)).toEqual([1, 1, 2, 2]);
  });

  it('is that of one tenant and one agent', async () => {
    const session = randomUUID();
    const tenantId = await addTenant(fixture.database);
    await say(session, { message: 'One secret' }, textReply('Hm.'));
    await say(session, { message: 'Of another', tenantId }, textReply('Hm.'));
    expect(sent()).toEqual([['user', 'Of another']]);
    await say(session, { message: 'To another', config: { agent: 'support' } }, textReply('Hm.'));
    expect(sent()).toEqual([['user', 'To another']]);
    await say(session, { message: 'Again', config: { agent: 'support' } }, textReply('Hm.'));
    expect(sent()).toHaveLength(3);
  });

  it('takes a number for an id, and nothing for an empty one', async () => {
    const chat = 723_456_789;
    const config = { session_id: chat };
    expect(await say('', { config }, textReply('Hm.'))).toMatchObject({ session_id: String(chat) });
    expect(await say('', {}, textReply('Hm.'))).not.toHaveProperty('session_id');
    expect(await failureOf(say('x'.repeat(201)))).toMatchObject({
      code: 'INPUT_INVALID',
      message: containing('session_id'),
    });
  });

  it('keeps nothing of a run that fails, and each turn once', async () => {
    const session = randomUUID();
    const task = said(session);
    fixture.models.script({ status: 500, body: { error: { message: 'down' } } }, textReply('Hi.'));
    expect(await failureOf(fixture.runtime.run(task))).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(await rows(session)).toEqual([]);
    await fixture.runtime.run(task);
    expect(await fixture.runtime.run(task)).toMatchObject({ replayed: true, session_id: session });
    expect(await rows(session)).toHaveLength(2);
  });

  it('gives way to a connected memory, and says so', async () => {
    const session = randomUUID();
    const turns: unknown[] = [];
    const memory: Memory = {
      load: () => Promise.resolve([{ role: 'user', content: 'Of the memory' }]),
      save: (turn) => Promise.resolve(void turns.push(turn)),
    };
    fixture.models.script(textReply('Hi.'));
    const result = await fixture.runtime.run(said(session), { connected: { memory } });
    expect(result.warnings).toMatchObject([{ code: 'SESSION_UNUSED', message: containing(session) }]);
    expect(result).not.toHaveProperty('session_id');
    expect(turns).toHaveLength(1);
    expect(await rows(session)).toEqual([]);
  });

  it('is forgotten when its messages are as old as its tenant says', async () => {
    const session = randomUUID();
    const tenantId = await addTenant(fixture.database, { settings: { session_days: 3 } });
    await say(session, { tenantId, message: 'Old' }, textReply('Old.'));
    await fixture.database.query(
      `UPDATE elo_agent_session_messages SET created_at = now() - interval '3 days 1 minute' WHERE tenant_id = $1`,
      [tenantId],
    );
    await say(session, { tenantId, message: 'New' }, textReply('New.'));
    expect(sent()).toEqual([['user', 'New']]);
  });
});

describe('runs of one session at once', () => {
  it('are put in order, and each knows the turns before it', async () => {
    const session = randomUUID();
    const held = heldReply(textReply('Answer one'));
    fixture.models.script(held.reply, textReply('Answer two'), textReply('Answer three'));
    const first = say(session, { message: 'One' });
    await held.asked;
    const second = say(session, { message: 'Two' });
    await runsInQueue(fixture, session, 2);
    const third = say(session, { message: 'Three' });
    await runsInQueue(fixture, session, 3);
    expect(fixture.models.received).toHaveLength(1);
    held.open();
    await Promise.all([first, second, third]);
    expect((await rows(session)).map(({ content }) => content)).toEqual([
      'One',
      'Answer one',
      'Two',
      'Answer two',
      'Three',
      'Answer three',
    ]);
    expect(sent()).toHaveLength(5);
  });

  it('do not wait for those of other sessions, nor for one that waits for a person', async () => {
    const session = randomUUID();
    const pay = `pay_${session.slice(0, 8)}`;
    const tenantId = await addTenant(fixture.database, {
      settings: { tool_config: { tool_permissions: { [pay]: { decision: 'ask' } } } },
    });
    await giveTool(fixture.database, tenantId, { code: pay, endpoint: servers.url });
    const task = said(session, { tenantId, message: 'Pay' });
    fixture.models.script(toolReply([{ name: pay }]), textReply('Meanwhile.'), textReply('Paid.'));
    const waiting = await fixture.runtime.run(task);
    expect(waiting).toMatchObject({ status: 'awaiting_input', session_id: session });
    await say(session, { tenantId, message: 'And meanwhile?' });
    const approval = { run_id: waiting.run_id, decision: 'approve' };
    const { meta } = task;
    const paid = await fixture.runtime.run({ task_id: randomUUID(), config: { approval }, meta });
    expect(paid).toMatchObject({ status: 'completed', result: { text: 'Paid.' }, session_id: session });
    expect(await rows(session, tenantId)).toMatchObject([
      { turn: 1, content: 'And meanwhile?' },
      { turn: 1, content: 'Meanwhile.' },
      { turn: 2, content: 'Pay' },
      { turn: 2, role: 'assistant' },
      { turn: 2, role: 'tool' },
      { turn: 2, content: 'Paid.', run_tokens: '240' },
    ]);
  });

  it('fail when their time is over before it is their turn, and cost nothing', async () => {
    const session = randomUUID();
    const held = heldReply();
    fixture.models.script(held.reply);
    const first = say(session);
    await held.asked;
    // Long enough for it to come into the queue, however busy the machine is.
    const task = said(session, { config: { timeout_seconds: 3 } });
    expect(await failureOf(fixture.runtime.run(task))).toMatchObject({
      code: 'SESSION_BUSY',
      message: containing(session),
    });
    expect(await fixture.runRow(task.task_id)).toMatchObject({ state: 'failed' });
    const open = 'SELECT FROM elo_agent_model_calls WHERE task_id = $1';
    expect(await fixture.database.query(open, [task.task_id])).toEqual([]);
    held.open();
    await first;
    fixture.models.script(textReply('Now.'));
    expect(await fixture.runtime.run(task)).toMatchObject({ status: 'completed' });
    expect(sent()).toHaveLength(3);
  });

  it('leave the queue when they are cancelled', async () => {
    const session = randomUUID();
    const held = heldReply(textReply('One'));
    fixture.models.script(held.reply, textReply('Three'));
    const first = say(session);
    await held.asked;
    const stop = new AbortController();
    const second = failureOf(fixture.runtime.run(said(session), { signal: stop.signal }));
    await runsInQueue(fixture, session, 2);
    const third = say(session);
    await runsInQueue(fixture, session, 3);
    stop.abort();
    expect(await second).toMatchObject({ code: 'RUN_CANCELLED' });
    held.open();
    expect([await first, await third]).toMatchObject([{ result: { text: 'One' } }, { result: { text: 'Three' } }]);
  });
});

import { randomUUID } from 'node:crypto';

import type { Runtime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing, withCode } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';

let fixture: AgentFixture;
let tenantId: string;
beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  tenantId = await addTenant(fixture.database);
});

const sessions = (): Runtime['admin']['session'] => fixture.runtime.admin.session;
async function say(session: string, agent: string | undefined, ...replies: ScriptedReply[]): Promise<void> {
  fixture.models.script(...replies);
  await fixture.runtime.run(aTask(tenantId, { message: `Hello ${session}`, session_id: session, agent }));
}
const cli = async (...args: readonly string[]): Promise<unknown> => {
  const { stdout, stderr } = await runCli(['session', ...args], { env: { DATABASE_URL: fixture.database.url } });
  expect(stderr).toBe('');
  return stdout;
};

it('lists the sessions of a tenant page by page, those that were added to last first', async () => {
  await addTenant(fixture.database);
  for (const session of ['a', 'b', 'c']) await say(session, undefined, textReply('Hi.'));
  await say('a', 'support', textReply('Hi.'));
  await say('a', undefined, textReply('Again.'));
  const first = await sessions().list({ tenantId, limit: 3 });
  expect(first.sessions).toMatchObject([
    { session_id: 'a', agent: '', turns: 2, total_tokens: '240', cost_usd: containing('0.000') },
    { session_id: 'a', agent: 'support', turns: 1, total_tokens: '120' },
    { session_id: 'c', agent: '', turns: 1 },
  ]);
  const rest = await sessions().list({ tenantId, limit: 3, after: first.next ?? '' });
  expect(rest).toMatchObject({ sessions: [{ session_id: 'b' }], next: null });
  expect((await sessions().list({ tenantId, agent: 'support' })).sessions).toHaveLength(1);
  expect((await sessions().list({ tenantId, agent: '' })).sessions).toHaveLength(3);
  expect(Object.keys(first.sessions[0] ?? {})).not.toContain('id');
});

it('gives what was said, page by page, with what each turn has cost', async () => {
  await say('a', undefined, toolReply([{ name: 'echo', arguments: { n: 1 } }]), textReply('One.'));
  await say('a', undefined, textReply('Two.'));
  const first = await sessions().get({ tenantId, sessionId: 'a', limit: 4 });
  expect(first).toMatchObject({
    ...{ session_id: 'a', agent: '', turns: 2 },
    messages: [
      { no: 1, turn: 1, role: 'user', content: 'Hello a', run_tokens: null },
      { no: 2, turn: 1, role: 'assistant', content: null, tool_calls: [{ function: { name: 'echo' } }] },
      { no: 3, turn: 1, role: 'tool', content: '{"n":1}' },
      { no: 4, turn: 1, role: 'assistant', content: 'One.', run_tokens: '240', cost_usd: containing('0.000') },
    ],
  });
  const rest = await sessions().get({ tenantId, sessionId: 'a', after: first.next ?? '' });
  expect(rest).toMatchObject({
    messages: [
      { no: 5, turn: 2 },
      { no: 6, content: 'Two.' },
    ],
    next: null,
  });
});

it('deletes one session, and a conversation that goes on begins anew', async () => {
  for (const agent of [undefined, 'support']) await say('a', agent, textReply('Hi.'));
  expect(await sessions().delete({ tenantId, sessionId: 'a' })).toEqual({
    ...{ tenant_id: tenantId, session_id: 'a', agent: '', deleted: true },
  });
  await expect(sessions().get({ tenantId, sessionId: 'a' })).rejects.toThrow(withCode('SESSION_NOT_FOUND'));
  expect(await sessions().get({ tenantId, sessionId: 'a', agent: 'support' })).toMatchObject({ turns: 1 });
  fixture.models.received.length = 0;
  await say('a', undefined, textReply('Who are you?'));
  expect(fixture.models.received[0]?.messages).toHaveLength(1);
});

it('knows nothing of the sessions of other tenants', async () => {
  await say('a', undefined, textReply('Hi.'));
  const other = await addTenant(fixture.database);
  const query = { tenantId: other, sessionId: 'a' };
  expect(await sessions().list({ tenantId: other })).toEqual({ sessions: [], next: null });
  await expect(sessions().get(query)).rejects.toThrow(withCode('SESSION_NOT_FOUND'));
  await expect(sessions().delete(query)).rejects.toThrow(withCode('SESSION_NOT_FOUND'));
  expect(await sessions().export({ tenantId: other })).toMatchObject({ text: '' });
  await expect(sessions().list({ tenantId: randomUUID() })).rejects.toThrow(withCode('TENANT_NOT_FOUND'));
  expect(await sessions().get({ tenantId, sessionId: 'a' })).toMatchObject({ turns: 1 });
});

it('is on the command line too: run, list, get, export, delete', async () => {
  const env = {
    ...{
      DATABASE_URL: fixture.database.url,
      OPENROUTER_API_KEY: 'sk-test-key',
      OPENROUTER_BASE_URL: fixture.models.url,
    },
  };
  fixture.models.script(textReply('Hello Ann.'), textReply('Ann.'));
  for (const message of ['I am Ann.', 'Who am I?']) {
    const ran = await runCli(['run', '--tenant', tenantId, '--session', 'chat-7', '--message', message], { env });
    expect(JSON.parse(ran.stdout)).toMatchObject({ session_id: 'chat-7' });
  }
  const list = JSON.parse(String(await cli('list', '--tenant', tenantId))) as { sessions: unknown[] };
  expect(list.sessions).toMatchObject([{ session_id: 'chat-7', turns: 2 }]);
  const got = JSON.parse(String(await cli('get', '--tenant', tenantId, '--session-id', 'chat-7'))) as {
    messages: unknown;
  };
  expect(got.messages).toMatchObject([{}, {}, { content: 'Who am I?' }, { content: 'Ann.' }]);
  const lines = String(await cli('export', '--tenant', tenantId))
    .trimEnd()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { session_id: 'chat-7', agent: '', role: 'user', content: 'I am Ann.' },
    { role: 'assistant', content: 'Hello Ann.' },
    { role: 'user' },
    { content: 'Ann.' },
  ]);
  expect(JSON.parse(String(await cli('delete', '--tenant', tenantId, '--session-id', 'chat-7')))).toMatchObject({
    deleted: true,
  });
});

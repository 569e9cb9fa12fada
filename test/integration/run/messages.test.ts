import { randomUUID } from 'node:crypto';

import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { plan, review } from '../../support/values/plan-script';

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

const said = [
  { role: 'system', content: 'Obey the client.' },
  { role: 'user', content: 'Count.' },
  {
    role: 'assistant',
    content: 'I count.',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'my echo', arguments: '{"n":' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: '1' },
  { role: 'assistant', content: 'One.' },
];
const task = (config: object = {}, tenantId = fixture.tenantId) =>
  aTask(tenantId, { message: 'And?', messages: said, ...config });
const sent = (at = -1) => (fixture.models.received.at(at)?.messages ?? []).map(({ role, content }) => [role, content]);
const asked = [
  ['user', 'Count.'],
  ['assistant', 'I count.'],
  ['tool', '1'],
  ['assistant', 'One.'],
  ['user', 'And?'],
];

it('a conversation of the client stands before the message, as far as a provider takes it', async () => {
  fixture.models.script(textReply('Two.'));
  const result = await fixture.runtime.run(task({ system_prompt: 'Be kind.' }));
  expect(sent()).toEqual([['system', 'Be kind.'], ...asked]);
  expect(fixture.models.received[0]?.messages[3 - 1]?.tool_calls).toMatchObject([
    { id: 'a', function: { name: 'my_echo', arguments: '{}' } },
  ]);
  expect(result.warnings).toMatchObject([{ code: 'MESSAGES_REPAIRED', message: containing('1 system messages') }]);
});

it('calls of tools leave it for a run that has none', async () => {
  fixture.models.script(textReply('Two.'));
  await fixture.runtime.run(task({ tools: [] }));
  expect(fixture.models.received[0]).not.toHaveProperty('tools');
  expect(sent()).toEqual([
    ['user', 'Count.'],
    ['assistant', 'One.'],
    ['user', 'And?'],
  ]);
});

it('messages of one side that follow each other are sent as one: some models refuse two', async () => {
  fixture.models.script(textReply('Two.'));
  const users = ['There?', 'Hello?'].map((content) => ({ role: 'user', content }));
  await fixture.runtime.run(
    task({ messages: [...said.slice(0, 2), ...said.slice(3), ...users], tools: [], context: { a: 1 } }),
  );
  expect(sent()).toEqual([
    ['user', 'Count.'],
    ['assistant', 'One.'],
    ['user', 'There?\n\nHello?\n\n<context>\n{"a":1}\n</context>\n\nAnd?'],
  ]);
});

it('another conversation is another request, and the same one is replayed', async () => {
  const first = task({ message: '', messages: [{ role: 'user', content: 'Hi' }] });
  fixture.models.script(textReply('Hello.'));
  const result = await fixture.runtime.run(first);
  expect(await fixture.runtime.run(first)).toEqual({ ...result, replayed: true });
  const other = { ...first, config: { ...first.config, messages: [{ role: 'user', content: 'Ho' }] } };
  await expect(fixture.runtime.run(other)).rejects.toMatchObject({ code: 'TASK_CONFLICT' });
});

it('a session or a connected memory is not mixed with it', async () => {
  const session = randomUUID();
  fixture.models.script(textReply('Two.'), textReply('Three.'), textReply('Four.'));
  const config = { session_id: session };
  const first = await fixture.runtime.run(task(config));
  expect(first.warnings).toMatchObject([{}, { code: 'MESSAGES_UNUSED', message: containing(session) }]);
  await fixture.runtime.run(task({ ...config, message: '', messages: [{ role: 'user', content: 'Then?' }] }));
  expect(sent()).toEqual([
    ['user', 'And?'],
    ['assistant', 'Two.'],
    ['user', 'Then?'],
  ]);
  const memory = { load: () => Promise.resolve([]), save: () => Promise.resolve() };
  const last = await fixture.runtime.run(task(), { connected: { memory } });
  expect(sent()).toEqual([['user', 'And?']]);
  expect(last.warnings).toMatchObject([{}, { code: 'MESSAGES_UNUSED', message: containing('connected memory') }]);
});

it('a run that waits for a person goes on with it', async () => {
  const pay = `pay_${randomUUID().slice(0, 8)}`;
  const tenantId = await addTenant(fixture.database, {
    settings: { tool_config: { tool_permissions: { [pay]: { decision: 'ask' } } } },
  });
  await giveTool(fixture.database, tenantId, { code: pay, endpoint: servers.url });
  const asking = task({}, tenantId);
  fixture.models.script(toolReply([{ name: pay }]), textReply('Paid.'));
  const waiting = await fixture.runtime.run(asking);
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  await fixture.runtime.run({ task_id: randomUUID(), config: { approval }, meta: asking.meta });
  expect(sent().slice(0, 5)).toEqual(asked);
  expect(sent()).toHaveLength(7);
});

it('steps of a plan are not shown it, the planner is', async () => {
  fixture.models.script(plan('Count on'), textReply('Two.'), review('SUCCESS'), textReply('Two.'));
  await fixture.runtime.run(task({ mode: 'plan' }));
  expect(sent(0).slice(-5)).toEqual(asked);
  expect(JSON.stringify(sent(1))).not.toContain('I count.');
});

it('a task of the queue may end with its request', async () => {
  fixture.models.script(textReply('Hello Ann.'));
  const { config, ...rest } = task({ message: '', messages: [...said, { role: 'user', content: 'And?' }] });
  const report = await fixture.runtime.handle({ ...rest, config, task_type: 'ai_agent' });
  expect(report).toMatchObject({ status: 'completed' });
  expect(sent()).toEqual(asked);
});

import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import type { AgentResult } from '../../../runtime';
import { forgetSessions } from '../../../runtime/storage/postgres/ledger/session-store';
import type { Query, Statement } from '../../../runtime/storage/statement';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, eventually, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
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

const words = (count: number): string => Array.from({ length: count }, () => 'word').join(' ');
const tenantWith = (settings: object = {}): Promise<string> => addTenant(fixture.database, { settings });
const said = (tenantId: string, message: string) => aTask(tenantId, { message, session_id: 's-1' });
const say = (tenantId: string, message: string): Promise<AgentResult> => fixture.runtime.run(said(tenantId, message));
const change = (tenantId: string, settings: object): Promise<unknown> =>
  fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [tenantId, settings]);

it('a run that goes on after an approval holds no room in the month while it waits', async () => {
  const pay = `pay_${randomUUID().slice(0, 8)}`;
  const rules = { tool_config: { tool_permissions: { [pay]: { decision: 'ask' } } } };
  const tenantId = await tenantWith(rules);
  await giveTool(fixture.database, tenantId, { code: pay, endpoint: servers.url });
  const task = said(tenantId, 'Pay');
  const first = heldReply(toolReply([{ name: 'echo', arguments: { n: 1 } }], { prompt: 15_000 }));
  fixture.models.script(toolReply([{ name: pay }]), first.reply, textReply('One.'), textReply('Paid.'));
  const waiting = await fixture.runtime.run(task);
  await change(tenantId, { ...rules, monthly_token_limit: 24_000 });
  const one = say(tenantId, 'One');
  await first.asked;
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const two = fixture.runtime.run({ task_id: randomUUID(), config: { approval }, meta: task.meta });
  await runsInQueue(fixture, tenantId, 2);
  first.open();
  expect([await one, await two]).toMatchObject([{ result: { text: 'One.' } }, { result: { text: 'Paid.' } }]);
});

it('a month that is used up takes no run of the minute, and leaves no line', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 100, runs_per_minute: 2 });
  fixture.models.script(textReply('One.'));
  await say(tenantId, 'One');
  for (const message of ['Two', 'Three', 'Four']) {
    expect(await failureOf(say(tenantId, message))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  }
  expect(await fixture.database.query('SELECT FROM elo_t_token_usage WHERE tenant_id = $1', [tenantId])).toHaveLength(
    1,
  );
});

it('an answer that came with one more call is kept once', async () => {
  const tenantId = await tenantWith();
  const task = said(tenantId, 'Go');
  const last = toolReply([{ name: 'echo' }]).body as { choices: { message: { content: string | null } }[] };
  for (const { message } of last.choices) message.content = 'I would look again.';
  fixture.models.script(toolReply([{ name: 'echo' }]), { body: last }, textReply('Bye.'));
  await fixture.runtime.run({
    ...task,
    config: { ...task.config, max_iterations: 1, on_max_iterations: 'finalAnswer' },
  });
  await say(tenantId, 'Next');
  const sent = fixture.models.received.at(-1)?.messages ?? [];
  expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
});

it('a long message hides no other turn from the summary', async () => {
  const tenantId = await tenantWith({ session_window_tokens: 400 });
  fixture.models.script(textReply('Hello Ann.'), textReply('Read.'), textReply('Summed up.'), textReply('Ann.'));
  for (const message of ['My name is Ann.', `Read this: ${words(30_000)}`, 'Who am I?']) await say(tenantId, message);
  const summary = JSON.stringify(fixture.models.received[2]?.messages);
  expect(summary).toContain('My name is Ann.');
  expect(summary.length).toBeLessThan(15_000);
});

it('a window that is made smaller hides no turn from the summary', async () => {
  const tenantId = await tenantWith();
  fixture.models.always(() => textReply('Yes.').body);
  for (let turn = 0; turn < 12; turn++) await say(tenantId, `Fact ${turn}: ${words(200)}`);
  await change(tenantId, { session_window_tokens: 200 });
  await say(tenantId, 'And now?');
  const [summary] = fixture.models.received.slice(-2);
  for (let turn = 0; turn < 12; turn++) expect(JSON.stringify(summary)).toContain(`Fact ${turn}:`);
});

it('a run that waits sits out a connection that breaks', async () => {
  const tenantId = await tenantWith();
  const first = heldReply();
  fixture.models.script(first.reply, textReply('Two.'));
  const one = say(tenantId, 'One');
  await first.asked;
  const blocker = new Client({ connectionString: fixture.database.url });
  await blocker.connect();
  await blocker.query('BEGIN');
  await blocker.query('SELECT FROM elo_agent_sessions WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
  const two = say(tenantId, 'Two');
  await eventually(async () => {
    const ended = await blocker.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE pid <> pg_backend_pid() AND datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return ended.rows.length > 0 ? true : undefined;
  });
  await blocker.query('ROLLBACK');
  await blocker.end();
  first.open();
  expect([await one, await two]).toMatchObject([{ result: { text: 'Late' } }, { result: { text: 'Two.' } }]);
});

it('what keeps the messages of one tenant from being deleted does not keep those of others', async () => {
  const deleted: unknown[] = [];
  const query = ((given: Statement) => {
    const [tenantId] = given.values;
    if (tenantId === undefined) return Promise.resolve([{ id: 'a' }, { id: 'b' }]);
    if (tenantId === 'a') return Promise.reject(new Error('its rows are locked'));
    return Promise.resolve(deleted.push(tenantId));
  }) as unknown as Query;
  await forgetSessions(query, () => 30);
  expect(deleted).toEqual(['b', 'b']);
});

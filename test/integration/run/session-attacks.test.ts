import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import type { AgentResult, Tool } from '../../../runtime';
import { forgetSessions } from '../../../runtime/storage/postgres/ledger/session-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { parseSettings } from '../../../runtime/tenants/parse-settings';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import {
  type AgentFixture,
  aTask,
  echoTool,
  eventually,
  failureOf,
  startAgentFixture,
} from '../../support/values/agent-fixture';
import { heldReply } from '../../support/values/held-reply';
import { runsInQueue } from '../../support/worlds/session-queue';

const words = (count: number, word = 'word'): string => Array.from({ length: count }, () => word).join(' ');
const findRows: Tool = {
  ...echoTool,
  definition: { name: 'find_rows', description: 'Finds rows', inputSchema: { type: 'object' } },
  execute: () => Promise.resolve({ isError: false, value: words(4000, 'row') }),
};

let fixture: AgentFixture;
let servers: TestServer;
beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, findRows] }));
  servers = await startServer((_request, response) => sendJson(response, { sent: true }));
});
afterAll(async () => {
  await fixture.close();
  await servers.close();
});
beforeEach(() => {
  fixture.models.received.length = 0;
});

const tenantWith = (settings: object = {}): Promise<string> => addTenant(fixture.database, { settings });
const said = (tenantId: string, message: string, config: Record<string, unknown> = {}) =>
  aTask(tenantId, { message, session_id: 's-1', ...config });
const say = (tenantId: string, message: string, config: Record<string, unknown> = {}): Promise<AgentResult> =>
  fixture.runtime.run(said(tenantId, message, config));
const told = (): readonly (string | null)[] =>
  fixture.models.received.at(-1)?.messages.map(({ content }) => content) ?? [];
const rows = (tenantId: string) =>
  fixture.database.query<{ content: string | null }>(
    'SELECT content FROM elo_agent_session_messages WHERE tenant_id = $1 ORDER BY no',
    [tenantId],
  );
const makeOld = (tenantId: string, days: number): Promise<unknown> =>
  Promise.all(
    ['elo_agent_session_messages SET created_at', 'elo_agent_sessions SET updated_at'].map((column) =>
      fixture.database.query(`UPDATE ${column} = now() - $2::int * interval '1 day' WHERE tenant_id = $1`, [
        tenantId,
        days,
      ]),
    ),
  );
async function forget(): Promise<void> {
  const postgres = createPostgres({ url: fixture.database.url, maxConnections: 1 });
  await forgetSessions(postgres.query, (settings) => parseSettings(settings).sessionDays ?? 30);
  await postgres.close();
}

it('a turn with results of many windows hides no other turn', async () => {
  const tenantId = await tenantWith({ session_window_tokens: 400 });
  fixture.models.script(textReply('Hello Ann.'));
  await say(tenantId, 'My name is Ann.');
  fixture.models.script(toolReply([{ name: 'find_rows' }]), textReply('Found.'));
  await say(tenantId, 'Find the rows.');
  fixture.models.script(textReply('Ann.'), textReply('For rows.'));
  await say(tenantId, 'Who am I?');
  expect(told()).toContain('My name is Ann.');
  expect(told()).toContainEqual(containing('was removed'));
  await say(tenantId, 'What did I ask for?');
  expect(told().filter((text) => text?.endsWith('.') === true || text?.endsWith('?') === true)).toEqual([
    ...['My name is Ann.', 'Hello Ann.', 'Find the rows.', 'Found.', 'Who am I?', 'Ann.', 'What did I ask for?'],
  ]);
});

it('a summary is told the beginning of results that did not fit', async () => {
  const tenantId = await tenantWith({ session_window_tokens: 400 });
  fixture.models.script(toolReply([{ name: 'find_rows' }]), textReply('Found.'));
  await say(tenantId, `Find the rows ${words(450)}`);
  fixture.models.script(textReply('Rows were found.'), textReply('Bye.'));
  await say(tenantId, 'Bye');
  const [, , summary] = fixture.models.received;
  expect(summary?.messages.at(-1)?.content).toContain('tool: "row row row');
  expect(JSON.stringify(summary).length).toBeLessThan(15_000);
  expect(told()[0]).toContain('Rows were found.');
});

it('of many runs that wait for the row of a session at once, one has the session', async () => {
  const tenantId = await tenantWith();
  fixture.models.script(textReply('Hello.'));
  await say(tenantId, 'Hello');
  const newRun = async (): Promise<string> => {
    const runId = randomUUID();
    await fixture.database.query(
      `INSERT INTO elo_agent_runs (tenant_id, task_id, run_id, digest, state, attempt, lease_until)
       VALUES ($1, $2, $3, 'd', 'running', 1, now() + interval '1 hour')`,
      [tenantId, runId, runId],
    );
    return runId;
  };
  const waitingClients = async (): Promise<number | undefined> => {
    const [row] = await fixture.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return row?.count;
  };
  const clients = Array.from({ length: 7 }, () => new Client({ connectionString: fixture.database.url }));
  await Promise.all(clients.map((client) => client.connect()));
  const [locker, ...others] = clients as [Client, ...Client[]];
  for (let round = 0; round < 20; round++) {
    await fixture.database.query(`UPDATE elo_agent_runs SET state = 'done' WHERE tenant_id = $1`, [tenantId]);
    await locker.query('BEGIN');
    await locker.query('UPDATE elo_agent_sessions SET updated_at = now() WHERE tenant_id = $1', [tenantId]);
    const asked: Promise<boolean>[] = [];
    for (const client of others) {
      const runId = await newRun();
      const hold = `SELECT elo_agent_hold_session($1, '', 's-1', $2) AS held`;
      asked.push(
        client.query<{ held: boolean }>(hold, [tenantId, runId]).then((answer) => answer.rows[0]?.held === true),
      );
      await eventually(async () => ((await waitingClients()) === asked.length ? true : undefined));
    }
    await locker.query('COMMIT');
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
  }
  await Promise.all(clients.map((client) => client.end()));
});

it('a run that waits holds no room in the month that the run before it needs', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 24_000 });
  const first = heldReply(toolReply([{ name: 'echo', arguments: { n: 1 } }], { prompt: 15_000 }));
  fixture.models.script(first.reply, textReply('One.'), textReply('Two.'));
  const one = say(tenantId, 'One');
  await first.asked;
  const two = say(tenantId, 'Two');
  await runsInQueue(fixture, tenantId, 2);
  first.open();
  expect([await one, await two]).toMatchObject([{ result: { text: 'One.' } }, { result: { text: 'Two.' } }]);
});

it('a month that is used up refuses the run before a model is asked', async () => {
  const tenantId = await tenantWith({ monthly_token_limit: 100 });
  fixture.models.script(textReply('One.'));
  await say(tenantId, 'One');
  const task = said(tenantId, 'Two');
  expect(await failureOf(fixture.runtime.run(task))).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    result: { iterations: 0 },
  });
  expect(fixture.models.received).toHaveLength(1);
  expect(await rows(tenantId)).toHaveLength(2);
});

it('a run that failed at its limit leaves no turn, however often it is tried', async () => {
  const tenantId = await tenantWith();
  const task = said(tenantId, 'Count', { max_iterations: 1 });
  const reply = toolReply([{ name: 'echo', arguments: { n: 1 } }]) as { body: { choices: [{ message: object }] } };
  Object.assign(reply.body.choices[0].message, { content: 'Let me look.' });
  fixture.models.script(reply, reply);
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(await failureOf(fixture.runtime.run(task))).toMatchObject({ code: 'MAX_ITERATIONS_REACHED' });
  }
  expect(await rows(tenantId)).toEqual([]);
});

it('a run that is taken over while it waits asks no model', async () => {
  const tenantId = await tenantWith();
  const first = heldReply();
  fixture.models.script(first.reply, textReply('Two.'));
  const one = say(tenantId, 'One');
  await first.asked;
  const task = said(tenantId, 'Two');
  const lost = failureOf(fixture.runtime.run(task));
  await runsInQueue(fixture, tenantId, 2);
  await fixture.database.query(
    `UPDATE elo_agent_runs SET lease_until = now() - interval '1 second' WHERE task_id = $1`,
    [task.task_id],
  );
  const other = fixture.runtime.run(task);
  await eventually(async () => ((await fixture.runRow(task.task_id)).attempt > 1 ? true : undefined));
  first.open();
  await one;
  expect([await lost, await other]).toMatchObject([{ code: 'RUN_TAKEN_OVER' }, { result: { text: 'Two.' } }]);
  expect(fixture.models.received).toHaveLength(2);
  expect(await fixture.usageRows(task.task_id)).toMatchObject([{ model_calls: 1 }]);
});

it('calls of runs that did not see each other have ids of their own', async () => {
  const pay = `pay_${randomUUID().slice(0, 8)}`;
  const tenantId = await tenantWith({ tool_config: { tool_permissions: { [pay]: { decision: 'ask' } } } });
  await giveTool(fixture.database, tenantId, { code: pay, endpoint: servers.url });
  const task = said(tenantId, 'Pay');
  fixture.models.script(toolReply([{ name: pay, id: '' }]));
  const waiting = await fixture.runtime.run(task);
  fixture.models.script(
    toolReply([{ name: 'echo', id: '' }]),
    textReply('Meanwhile.'),
    textReply('Paid.'),
    textReply('Bye.'),
  );
  await say(tenantId, 'And?');
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  await fixture.runtime.run({ task_id: randomUUID(), config: { approval }, meta: task.meta });
  await say(tenantId, 'Bye');
  const sent = fixture.models.received.at(-1)?.messages ?? [];
  const called = sent.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
  expect(called).toHaveLength(2);
  expect(new Set(called).size).toBe(2);
  expect(sent.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(called);
});

it('a run that is stopped in its summary says so', async () => {
  const tenantId = await tenantWith({ session_window_tokens: 300 });
  fixture.models.script(textReply('One.'), textReply('Two.'));
  for (const turn of ['First', 'Second']) await say(tenantId, `${turn} ${words(150)}`);
  const summary = heldReply();
  fixture.models.script(summary.reply);
  const stop = new AbortController();
  const running = failureOf(fixture.runtime.run(said(tenantId, 'Third'), { signal: stop.signal }));
  await summary.asked;
  stop.abort();
  expect(await running).toMatchObject({ code: 'RUN_CANCELLED' });
  fixture.models.script(summary.reply);
  expect(await failureOf(say(tenantId, 'Fourth', { timeout_seconds: 1 }))).toMatchObject({ code: 'RUN_TIMEOUT' });
  summary.open();
});

describe('what is old', () => {
  it.each([
    [{ crm_session_days: 1 }, 29, 2],
    [{ crm: { session_days: 1 } }, 29, 2],
    [{ session_days: 60, crm: { session_days: 1 } }, 59, 2],
    [{ session_days: '60.0' }, 59, 2],
    [{ session_days: ' 60 ' }, 59, 2],
    [JSON.stringify({ session_days: 60 }), 59, 2],
    [{}, 31, 0],
    [{ session_days: null }, 31, 0],
    [{ session_days: 2 }, 3, 0],
    [{ session_days: '2' }, 3, 0],
  ])(
    'is deleted by the days that a run reads in %j: after %d days %d messages are left',
    async (settings, days, left) => {
      const tenantId = await addTenant(fixture.database);
      await fixture.database.query('UPDATE elo_t_tenants SET settings = $2::jsonb WHERE id = $1', [
        tenantId,
        JSON.stringify(settings),
      ]);
      fixture.models.script(textReply('Hello.'));
      await say(tenantId, 'Hello');
      await makeOld(tenantId, days);
      await forget();
      expect(await rows(tenantId)).toHaveLength(left);
      const sessions = await fixture.database.query('SELECT FROM elo_agent_sessions WHERE tenant_id = $1', [tenantId]);
      expect(sessions).toHaveLength(left / 2);
    },
  );

  it('stays where nobody can read how long it should', async () => {
    const tenantId = await addTenant(fixture.database);
    fixture.models.script(textReply('Hello.'));
    await say(tenantId, 'Hello');
    await makeOld(tenantId, 31);
    await fixture.database.query(`UPDATE elo_t_tenants SET settings = '{"session_day": 60}' WHERE id = $1`, [tenantId]);
    await forget();
    expect(await rows(tenantId)).toHaveLength(2);
  });

  it('leaves a session to the run that has it', async () => {
    const tenantId = await tenantWith();
    fixture.models.script(textReply('Long ago.'));
    await say(tenantId, 'Hello');
    await makeOld(tenantId, 31);
    const first = heldReply();
    fixture.models.script(first.reply, textReply('Two.'));
    const one = say(tenantId, 'One');
    await first.asked;
    await forget();
    const two = say(tenantId, 'Two');
    await runsInQueue(fixture, tenantId, 2);
    first.open();
    await Promise.all([one, two]);
    expect((await rows(tenantId)).map(({ content }) => content)).toEqual(['One', 'Late', 'Two', 'Two.']);
  });
});

it.each([{ session_days: 3_000_000_000 }, { session_days: 3_000_000 }, { session_window_tokens: 1e18 }])(
  'settings beyond all measure hold as far as the database goes: %j',
  async (settings) => {
    const tenantId = await tenantWith(settings);
    fixture.models.script(textReply('One.'), textReply('Two.'));
    await say(tenantId, 'One');
    await say(tenantId, 'Two');
    expect(told()).toHaveLength(3);
  },
);

it('refuses a name of an agent that is too long to be kept', async () => {
  const failure = await failureOf(say(await tenantWith(), 'Hello', { agent: 'a'.repeat(201) }));
  expect(failure).toMatchObject({ code: 'INPUT_INVALID', message: containing('config.agent') });
});

it('takes a session id of any characters that an id may have', async () => {
  const tenantId = await tenantWith();
  const session = `${'😀'.repeat(90)} ' " \\ <s> %`;
  fixture.models.script(textReply('One.'), textReply('Two.'), textReply('Three.'));
  expect(await say(tenantId, 'One', { session_id: session })).toMatchObject({ session_id: session });
  await say(tenantId, 'Two', { session_id: session });
  expect(told()).toHaveLength(3);
  await say(tenantId, 'Three', { session_id: session.toUpperCase().replace('<S>', '<t>') });
  expect(told()).toHaveLength(1);
});

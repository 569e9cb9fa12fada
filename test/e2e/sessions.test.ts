import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { startCli } from '../support/worlds/cli';
import { addModelCredential, addPostgresCredential, agentWorkflow, connect, FIELDS, type N8n } from './support/host';
import { makeTwins } from './support/twins';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');
const TURNS = 200;

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let editor: Editor;
let workflowId: string;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  models.always(({ messages }) => {
    const text = messages.at(-1)?.content ?? '';
    return textReply(
      messages[0]?.content?.includes('memory of a conversation') === true
        ? 'Much was said.'
        : `Answer to ${text.slice(-20)}`,
    ).body;
  });
  const credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-sessions', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  const parameters = { ...FIELDS, sessionId: '={{ $json.chat }}' };
  ({ id: workflowId } = await n8n.createWorkflow(agentWorkflow({ path: 'sessions', parameters, credentials })));
  await n8n.activate(workflowId);
  editor = await openEditor({ host: n8n });
  await editor.login();
});
afterAll(async () => {
  await editor.close();
  await n8n.deactivate(workflowId);
  await Promise.all([models.close(), redis.close(), database.close()]);
});

const env = () => ({
  ...{ DATABASE_URL: database.url, REDIS_URL: redis.url, AGENT_WORKER_PORT: '0' },
  ...{ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: models.url },
});

async function byNode(tenant: string, message: string): Promise<void> {
  const response = await fetch(`${n8n.baseUrl}/webhook/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ items: [{ tenant, tier: 'pro', message, chat: 7 }] }),
  });
  expect(await response.json()).toMatchObject([{ session_id: '7', status: 'completed' }]);
}

async function byCommand(tenant: string, message: string): Promise<void> {
  const args = ['run', '--tenant', tenant, '--session', '7', '--tier', 'pro', '--message', message];
  expect(await startCli(args, { env: env() }).ended).toMatchObject({ exitCode: 0 });
}

async function byWorker(tenant: string, message: string): Promise<void> {
  const config = { message, agent_tier: 'pro', session_id: 7 };
  const key = `elo:results:${message.replaceAll(' ', '-')}`;
  const task = { task_type: 'ai_agent', config, meta: { tenant_id: tenant }, callback: { result_key: key } };
  await redis.client.lpush('elo:tasks:pending', JSON.stringify(task));
  await eventually(async () => ((await redis.client.llen(key)) > 0 ? true : undefined));
}

it('200 turns of one session by node, worker and command line, with a restart: none is lost, none is seen by another tenant', async () => {
  const settings = { session_window_tokens: 1000 };
  const [tenant, other] = [await addTenant(database, { settings }), await addTenant(database, { settings })];
  let worker = startCli(['worker'], { env: env() });
  for (let turn = 1; turn <= TURNS; turn++) {
    const say = turn % 20 === 0 ? byCommand : turn % 3 === 0 ? byWorker : byNode;
    await say(tenant, `Question ${turn} of one`);
    if (turn % 40 === 0) await byNode(other, `Question ${turn} of another`);
    if (turn !== TURNS / 2) continue;
    worker.process.kill('SIGKILL');
    await worker.ended;
    worker = startCli(['worker'], { env: env() });
  }
  worker.process.kill('SIGTERM');
  await worker.ended;
  const said = (of: string) =>
    database.query<{ turn: number; content: string }>(
      `SELECT turn, content FROM elo_agent_session_messages WHERE tenant_id = $1 AND kind = 'message' ORDER BY no`,
      [of],
    );
  const numbers = Array.from({ length: TURNS }, (_, index) => index + 1);
  expect(await said(tenant)).toEqual(
    numbers.flatMap((turn) => [
      { turn, content: `Question ${turn} of one` },
      { turn, content: expect.stringContaining(`${turn} of one`) as string },
    ]),
  );
  expect(await said(other)).toHaveLength(10);
  const texts = models.received.map(({ messages }) => messages.map(({ content }) => content).join('\n'));
  expect(texts.filter((text) => text.includes('of another') && text.includes('of one'))).toEqual([]);
  // About four characters are a token of these texts.
  expect(Math.max(...texts.filter((text) => !text.startsWith('You keep')).map((text) => text.length))).toBeLessThan(
    6000,
  );
});

it('the operations of the Admin node are those of the command line', async () => {
  const twins = await makeTwins({ n8n, credentials: {}, env: {} });
  const tenant = await addTenant(twins.node);
  await twins.cli.query(`INSERT INTO elo_t_tenants (id, name) VALUES ($1, 'Twin')`, [tenant]);
  for (const twin of [twins.node, twins.cli]) {
    const messages = [{ message: { role: 'user', content: 'Hi' }, tokens: 1 }];
    const turn = { agent: '', sessionId: 'a', tokens: 9, costUsd: '0.1', messages };
    const run = '22222222-2222-4333-8444-555555555555';
    await twin.query(`SELECT elo_agent_add_turn($1, 'task', $2, $3)`, [tenant, run, JSON.stringify(turn)]);
  }
  const tenantId = { __rl: true, mode: 'id', value: tenant };
  const of = (operation: string, more: object = {}): object => ({ resource: 'session', operation, tenantId, ...more });
  const args = (verb: string, ...more: string[]): string[] => ['session', verb, '--tenant', tenant, ...more];
  await twins.same({ parameters: of('list'), args: args('list'), list: 'sessions' });
  const get = { parameters: of('get', { sessionId: 'a' }), args: args('get', '--session-id', 'a'), list: 'messages' };
  expect(await twins.same(get)).toMatchObject([{ content: 'Hi' }]);
  const unknown = { parameters: of('get', { sessionId: 'b' }), args: args('get', '--session-id', 'b') };
  await twins.refused('SESSION_NOT_FOUND', unknown);
  const files = await twins.texts({ parameters: of('export'), args: args('export') });
  expect(files.node).toContain('"content":"Hi"');
  expect(files.node).toEqual(files.cli);
  await twins.same({ parameters: of('delete', { sessionId: 'a' }), args: args('delete', '--session-id', 'a') });
  await twins.close();
});

it('the panel has the field Session ID, below the mode', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await editor.openNode('Agent');
  await page.waitForLoadState('networkidle');
  const field = page.locator('[data-test-id="parameter-input-sessionId"]').filter({ visible: true }).first();
  await field.scrollIntoViewIfNeeded();
  await page.getByText('Session ID', { exact: true }).first().waitFor();
  await editor.screenshot(path.join(PICTURES, 'session.png'));
});

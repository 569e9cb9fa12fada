import { createRuntime, type Runtime } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { migrate } from '../../../runtime/storage/schema/migrate';
import {
  addTenant,
  createDatabase,
  createMigratedDatabase,
  giveTool,
  type TestDatabase,
} from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { startRedis } from '../../support/servers/redis';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { makeSchemaBefore } from '../../support/values/schema-before';
import { usageOf } from '../../support/values/usage-of';

let now: AgentFixture;
let old: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  now = await startAgentFixture();
  old = await createDatabase();
  await makeSchemaBefore(old);
  server = await startServer((_request, response) => sendJson(response, { sent: true }));
});
afterAll(async () => {
  await Promise.all([now.close(), server.close()]);
  await old.close();
});

const SETTINGS = { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } };
const TABLES = ['elo_agent_runs', 'elo_agent_model_calls', 'elo_agent_journal', 'elo_t_token_usage'];

/** Puts what is on record of a task into the old database, as the version before would have written it. */
async function moveBack(taskId: string): Promise<void> {
  for (const table of TABLES) {
    const rows = await now.database.query<{ row: unknown }>(
      `SELECT to_jsonb(kept) AS row FROM ${table} AS kept WHERE task_id = $1`,
      [taskId],
    );
    for (const { row } of rows) {
      await old.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`, [
        JSON.stringify(row),
      ]);
    }
  }
}

const runtimeOn = (url: string, redis?: string): Runtime =>
  createRuntime({
    database: { url },
    ...(redis === undefined ? {} : { redis: { url: redis } }),
    model: { apiKey: 'sk-test-key', baseUrl: now.models.url, maxRetries: 0 },
  });

it('what was under way in a database of before goes on after the upgrade: a run that waits, one that failed, an end that was kept', async () => {
  const tenantId = await addTenant(now.database, { settings: SETTINGS });
  await giveTool(now.database, tenantId, { code: 'pay', endpoint: server.url });
  await old.query(`INSERT INTO elo_t_tenants (id, name, settings) VALUES ($1, 'Moved', $2)`, [tenantId, SETTINGS]);
  await giveTool(old, tenantId, { code: 'pay', endpoint: server.url });
  const [waits, fails, ends] = [aTask(tenantId), aTask(tenantId), aTask(tenantId)];
  now.models.script(toolReply([{ name: 'pay', arguments: { amount: 7 } }]));
  const waiting = await now.runtime.run(waits);
  now.models.script(toolReply([{ name: 'nothing' }]));
  await failureOf(now.runtime.run(fails));
  now.models.script(textReply('Done.'));
  const done = await now.runtime.run(ends);
  for (const { task_id } of [waits, fails, ends]) await moveBack(task_id);
  // The end of this run never reached the database.
  await old.query(`DELETE FROM elo_t_token_usage WHERE task_id = $1`, [ends.task_id]);
  await old.query(
    `UPDATE elo_agent_runs SET state = 'running', lease_until = now() + interval '1 hour', result = NULL WHERE task_id = $1`,
    [ends.task_id],
  );
  await old.query(`UPDATE elo_agent_model_calls SET closed_at = NULL, prompt_tokens = NULL WHERE task_id = $1`, [
    ends.task_id,
  ]);

  const postgres = createPostgres({ url: old.url, maxConnections: 1 });
  await migrate(postgres);
  const redis = await startRedis();
  const installation = await createLedgerStore(postgres.query, { auditRetentionDays: 90 }).identify();
  const call = {
    modelRequested: 'm',
    modelBilled: 'm',
    usage: usageOf(100, 10),
    unansweredRequests: 0,
    costUsd: '0.5',
  };
  const end = { state: 'done', result: done, lastStep: 1 };
  const kept = {
    ...{
      version: 1,
      tenantId,
      taskId: ends.task_id,
      runId: done.run_id,
      leaseMs: 60_000,
      end,
      closed: [{ ...call, step: 1 }],
    },
    bill: { tier: 'pro', taskType: 'ai_agent', modelRequested: 'm' },
  };
  await redis.client.rpush(`elo:agent:outbox:${installation}`, JSON.stringify(kept));

  const runtime = runtimeOn(old.url, redis.url);
  now.models.script(textReply('Paid.'));
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const paid = await runtime.run({ ...waits, config: { ...waits.config, approval } });
  expect(paid).toMatchObject({ status: 'completed', result: { text: 'Paid.', tool_calls: [{ tool: 'pay' }] } });
  now.models.script(textReply('It is not there.'));
  await expect(runtime.run(fails)).resolves.toMatchObject({ iterations: 1, result: { text: 'It is not there.' } });
  // It waits for the end that was kept, which the runtime writes by itself.
  await expect(runtime.run(ends)).resolves.toMatchObject({ replayed: true, result: { text: 'Done.' } });
  const lines = await old.query(`SELECT task_id, model_calls FROM elo_t_token_usage WHERE tenant_id = $1`, [tenantId]);
  expect(lines).toEqual(
    expect.arrayContaining([
      { task_id: waits.task_id, model_calls: 2 },
      { task_id: ends.task_id, model_calls: 1 },
    ]),
  );
  await runtime.close();
  await postgres.close();
  await redis.close();
});

it('a database of the last version does runs without a session, and what waits there goes on after the upgrade', async () => {
  const last = await createMigratedDatabase();
  await last.query('DROP TABLE elo_agent_session_messages, elo_agent_sessions');
  await last.query('DROP FUNCTION elo_agent_add_turn, elo_agent_hold_session');
  await last.query(`DELETE FROM elo_agent_migrations WHERE name = '0106-sessions'`);
  const tenantId = await addTenant(last, { settings: SETTINGS });
  await giveTool(last, tenantId, { code: 'pay', endpoint: server.url });
  const runtime = runtimeOn(last.url);
  const [waits, talks] = [aTask(tenantId), aTask(tenantId, { session_id: 's-1' })];
  now.models.script(toolReply([{ name: 'pay', arguments: { amount: 7 } }]));
  const waiting = await runtime.run(waits);
  const asked = now.models.received.length;
  expect(await failureOf(runtime.run(talks))).toMatchObject({ code: 'DB_SCHEMA_MISSING' });
  expect(now.models.received).toHaveLength(asked);

  const postgres = createPostgres({ url: last.url, maxConnections: 1 });
  expect(await migrate(postgres)).toMatchObject({ applied: ['0106-sessions'] });
  await postgres.close();
  now.models.script(textReply('Paid.'), textReply('Hello.'));
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const paid = await runtime.run({ ...waits, config: { ...waits.config, approval } });
  expect(paid).toMatchObject({ status: 'completed', result: { text: 'Paid.' } });
  expect(await runtime.run(talks)).toMatchObject({ status: 'completed', session_id: 's-1' });
  await runtime.close();
  await last.close();
});

import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import { type AgentResult, createRuntime, type LedgerStore, type Tool } from '../../../runtime';
import { startRunRecord } from '../../../runtime/ledger/run-record';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { createMemoryLedger } from '../../../runtime/testing';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import {
  type AgentFixture,
  aTask,
  echoTool,
  eventually,
  failureOf,
  startAgentFixture,
} from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let hooks: TestServer;
const payTool: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'pay' },
};

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, payTool] }));
  hooks = await startServer((_request, response) => sendJson(response, { sent: hooks.requests.length }));
});
afterAll(() => Promise.all([fixture.close(), hooks.close()]));

const tenantWith = (settings: object) => addTenant(fixture.database, { settings });
const monthOf = async (tenantId: string): Promise<number> => {
  const [row] = await fixture.database.query<{ tokens: string }>(
    `SELECT coalesce(sum(tokens), 0) AS tokens FROM elo_agent_monthly_usage
     WHERE tenant_id = $1 AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
    [tenantId],
  );
  return Number(row?.tokens);
};
const A_LINE = `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, total_tokens) VALUES ($1, 'theirs', 'm', 5)`;
const connection = async (): Promise<Client> => {
  const client = new Client({ connectionString: fixture.database.url });
  await client.connect();
  return client;
};
const withLedger = async (work: (ledger: LedgerStore) => Promise<unknown>): Promise<void> => {
  const postgres = createPostgres({ url: fixture.database.url, maxConnections: 1 });
  const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 1 });
  await work(ledger);
  await Promise.all([ledger.close(), postgres.close()]);
};
const asking = { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } };
const approve = (tenantId: string, runId: string) => ({
  config: { approval: { run_id: runId, decision: 'approve' } },
  meta: { tenant_id: tenantId },
});

describe('the sum of the month', () => {
  it('counts what an old task uses in this month, not in the month of its first line', async () => {
    const tenantId = await tenantWith({ monthly_token_limit: 150 });
    const task = aTask(tenantId);
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(task);
    await fixture.database.query(
      `UPDATE elo_t_token_usage SET created_at = created_at - interval '40 days' WHERE tenant_id = $1`,
      [tenantId],
    );
    expect(await monthOf(tenantId)).toBe(0);
    fixture.models.script(textReply('Again', { prompt: 300 }));
    await fixture.runtime.run(task, { fresh: true });
    expect(await monthOf(tenantId)).toBe(320);
    const failure = await failureOf(fixture.runtime.run(task, { fresh: true }));
    expect(failure.code).toBe('BUDGET_EXCEEDED');
  });

  it('takes corrections of an old line where the line is', async () => {
    const tenantId = await tenantWith({});
    await fixture.database.query(
      `INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens, created_at) VALUES ($1, 'm', 5, now() - interval '40 days')`,
      [tenantId],
    );
    await fixture.database.query('UPDATE elo_t_token_usage SET total_tokens = 9 WHERE tenant_id = $1', [tenantId]);
    expect(await monthOf(tenantId)).toBe(0);
  });

  it("is not held up by another program's long transaction", async () => {
    const tenantId = await tenantWith({ monthly_token_limit: 100_000 });
    await fixture.database.query(A_LINE, [tenantId]);
    const other = await connection();
    await other.query('BEGIN');
    await other.query(A_LINE, [tenantId]);
    fixture.models.script(textReply('Done'));
    const result = await fixture.runtime
      .run(aTask(tenantId, { timeout_seconds: 3 }))
      .finally(() => other.query('COMMIT'));
    expect(result.warnings).toEqual([]);
    await other.end();
    expect(await monthOf(tenantId)).toBe(130);
  });

  it('lets two programs write lines of the same tenants in any order', async () => {
    const [one, other] = [await tenantWith({}), await tenantWith({})];
    const [a, b] = [await connection(), await connection()];
    for (const tenantId of [one, other]) await fixture.database.query(A_LINE, [tenantId]);
    await Promise.all([a.query('BEGIN'), b.query('BEGIN ISOLATION LEVEL REPEATABLE READ')]);
    await Promise.all([a.query(A_LINE, [one]), b.query(A_LINE, [other])]);
    await Promise.all([a.query(A_LINE, [other]), b.query(A_LINE, [one])]);
    await Promise.all([a.query('COMMIT'), b.query('COMMIT')]);
    await Promise.all([a.end(), b.end()]);
    expect([await monthOf(one), await monthOf(other)]).toEqual([15, 15]);
  });

  it('does not make a program fail that reads a state of before', async () => {
    const tenantId = await tenantWith({});
    await fixture.database.query(A_LINE, [tenantId]);
    const other = await connection();
    await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await other.query('SELECT count(*) FROM elo_t_token_usage');
    await fixture.database.query(A_LINE, [tenantId]);
    await other.query(A_LINE, [tenantId]);
    await other.query('COMMIT');
    await other.end();
    expect(await monthOf(tenantId)).toBe(15);
  });

  it('is that of many writers at once, of changes and of deletions', async () => {
    const tenantId = await tenantWith({});
    const clients = await Promise.all(Array.from({ length: 8 }, connection));
    await Promise.all(
      clients.map(async (client) => {
        for (let n = 0; n < 20; n++) await client.query(A_LINE, [tenantId]);
      }),
    );
    await Promise.all(
      clients.map((client, n) =>
        client.query(
          n % 2 === 0
            ? 'UPDATE elo_t_token_usage SET total_tokens = 7 WHERE tenant_id = $1 AND id % 8 = $2'
            : 'DELETE FROM elo_t_token_usage WHERE tenant_id = $1 AND id % 8 = $2',
          [tenantId, n],
        ),
      ),
    );
    const [row] = await fixture.database.query<{ tokens: string }>(
      'SELECT sum(total_tokens) AS tokens FROM elo_t_token_usage WHERE tenant_id = $1',
      [tenantId],
    );
    expect(await monthOf(tenantId)).toBe(Number(row?.tokens));
    await Promise.all(clients.map((client) => client.end()));
  });

  it('survives a figure that is none', async () => {
    const tenantId = await tenantWith({ monthly_cost_limit_usd: 5 });
    await fixture.database.query(
      `INSERT INTO elo_t_token_usage (tenant_id, model_id, cost_usd) VALUES ($1, 'm', 'NaN')`,
      [tenantId],
    );
    fixture.models.script(textReply('Done'));
    await expect(fixture.runtime.run(aTask(tenantId))).resolves.toMatchObject({ status: 'completed' });
  });

  it('is gone with the lines when the table is emptied', async () => {
    const tenantId = await tenantWith({});
    await fixture.database.query('BEGIN');
    await fixture.database.query(A_LINE, [tenantId]);
    await fixture.database.query('TRUNCATE elo_t_token_usage');
    expect(await monthOf(tenantId)).toBe(0);
    await fixture.database.query('ROLLBACK');
  });
});

describe('room in the month', () => {
  it('is judged on one state: a run that settles meanwhile is either held or spent', async () => {
    const tenantId = await tenantWith({});
    const key = [tenantId, randomUUID(), randomUUID()];
    await fixture.database.query(
      `INSERT INTO elo_agent_runs (tenant_id, task_id, run_id, digest, state, attempt, lease_until, held_tokens, held_cost_usd)
       VALUES ($1, $2, $3, repeat('d', 64), 'running', 1, now() + interval '1 minute', 900, 0)`,
      key,
    );
    const [settling, asker] = [await connection(), await connection()];
    await settling.query('BEGIN');
    await settling.query('LOCK TABLE elo_agent_runs IN ACCESS EXCLUSIVE MODE');
    const room = asker.query<{ room: string }>(
      'SELECT elo_agent_reserve($1::uuid, ARRAY[$2::uuid], NULL, 500, 0, 0) AS room',
      [tenantId, randomUUID()],
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    await settling.query(`UPDATE elo_agent_runs SET state = 'done' WHERE tenant_id = $1`, [tenantId]);
    await settling.query(`INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens) VALUES ($1, 'm', 900)`, [
      tenantId,
    ]);
    await settling.query('COMMIT');
    expect((await room).rows).toEqual([{ room: 'exceeded' }]);
    await Promise.all([settling.end(), asker.end()]);
  });

  it('is kept for the whole transcript of a run that goes on after an approval', async () => {
    const tenantId = await tenantWith({ ...asking, monthly_token_limit: 1_000_000 });
    fixture.models.script(toolReply([{ name: 'pay' }]));
    const waiting = await fixture.runtime.run(aTask(tenantId, { message: 'long '.repeat(10_000) }));
    let held: unknown;
    fixture.models.script(async (_request, response) => {
      [held] = await fixture.database.query('SELECT held_tokens FROM elo_agent_runs WHERE tenant_id = $1', [tenantId]);
      sendJson(response, textReply('Paid').body);
    });
    await fixture.runtime.run(approve(tenantId, waiting.run_id));
    expect(Number((held as { held_tokens: string }).held_tokens)).toBeGreaterThan(50_000);
  });

  it('is not what a cancelled run was refused for', async () => {
    const tenantId = await tenantWith({ monthly_token_limit: 20_000 });
    const controller = new AbortController();
    fixture.models.script(async (_request, response) => {
      await fixture.database.query(
        `INSERT INTO elo_agent_runs (tenant_id, task_id, run_id, digest, state, attempt, lease_until, held_tokens, held_cost_usd)
         VALUES ($1, 'other', gen_random_uuid(), repeat('d', 64), 'running', 1, now() + interval '1 minute', 50000, 1)`,
        [tenantId],
      );
      sendJson(response, toolReply([{ name: 'echo' }]).body);
    });
    const task = aTask(tenantId);
    const running = failureOf(fixture.runtime.run(task, { signal: controller.signal }));
    await eventually(async () => (await fixture.usageRows(task.task_id))[0]);
    // The step is written; the next one waits for room.
    controller.abort();
    const failure = await running;
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED', result: { status: 'cancelled', iterations: 1 } });
  });

  it('is counted for the free tier too', async () => {
    const tenantId = await tenantWith({ monthly_token_limit: 100 });
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(aTask(tenantId, { agent_tier: 'nano' }));
    expect(await monthOf(tenantId)).toBe(120);
    expect((await failureOf(fixture.runtime.run(aTask(tenantId, { agent_tier: 'nano' })))).code).toBe(
      'BUDGET_EXCEEDED',
    );
  });

  it('ends at most one reservation above the limit, with forty runs of two tenants on two runtimes', async () => {
    const second = createRuntime({
      database: { url: fixture.database.url },
      model: { apiKey: 'k', baseUrl: fixture.models.url, maxRetries: 0 },
      plugins: { tools: [echoTool, payTool] },
    });
    const limit = 12_000;
    const rules = { tool_permissions: { 'hook_*': { rate_limit_per_minute: 6, rate_limit_per_day: 50 } } };
    const tenants = [
      await tenantWith({ monthly_token_limit: limit, tool_config: rules }),
      await tenantWith({ monthly_token_limit: limit, tool_config: rules }),
    ];
    for (const tenantId of tenants) {
      await giveTool(fixture.database, tenantId, {
        code: `hook_${tenantId.slice(0, 8)}`,
        endpoint: hooks.url,
      });
      await fixture.database.query('UPDATE elo_t_tenant_tools SET usage_limit_daily = 5 WHERE tenant_id = $1', [
        tenantId,
      ]);
    }
    fixture.models.script();
    fixture.models.always((request) => {
      const hook = request.tools?.find((tool) => tool.function.name.startsWith('hook_'))?.function.name ?? 'echo';
      const isFirst = !request.messages.some(({ role }) => role === 'tool');
      const calls = [
        { name: hook, arguments: { n: Math.random() } },
        { name: 'echo', arguments: { n: Math.random() } },
      ];
      return isFirst
        ? toolReply(calls, { prompt: 500, completion: 100 }).body
        : textReply('Done', { prompt: 700, completion: 100 }).body;
    });
    const runs = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? fixture.runtime : second)
        .run(aTask(tenants[n % 4 < 2 ? 0 : 1] as string, { timeout_seconds: 60 }))
        .then(
          () => 'ok',
          (error: unknown) => (error as { code: string }).code,
        ),
    );
    const calls = Array.from({ length: 10 }, (_, n) => {
      const tenantId = tenants[n % 2] as string;
      return second.tools
        .call({ tenantId, tool: `hook_${tenantId.slice(0, 8)}`, arguments: { n } })
        .then(({ code }) => code);
    });
    const ended = await Promise.all(runs);
    await Promise.all(calls);
    fixture.models.always(() => ({ error: 'no reply is scripted' }));
    await second.close();
    expect(new Set(ended)).toEqual(new Set(['ok', 'BUDGET_EXCEEDED']));
    for (const tenantId of tenants) {
      const used = await monthOf(tenantId);
      expect(used).toBeGreaterThanOrEqual(limit);
      // One reservation: a prompt of 600 tokens, two results, and a reply of the tier's length.
      expect(used).toBeLessThanOrEqual(limit + 600 + 8000 + 2000);
      const [counted] = await fixture.database.query<{ used: number }>(
        'SELECT usage_count_today AS used FROM elo_t_tenant_tools WHERE tenant_id = $1',
        [tenantId],
      );
      expect(counted?.used).toBe(5);
    }
  });
});

describe('limits of a run', () => {
  it('hold over an approval', async () => {
    const tenantId = await tenantWith(asking);
    fixture.models.script(toolReply([{ name: 'pay' }], { prompt: 900, completion: 50 }));
    const waiting = await fixture.runtime.run(aTask(tenantId, { max_total_tokens: 1000 }));
    fixture.models.script(toolReply([{ name: 'echo' }], { prompt: 60, completion: 20 }));
    const failure = await failureOf(fixture.runtime.run(approve(tenantId, waiting.run_id)));
    expect(failure.code).toBe('BUDGET_EXCEEDED');
  });

  it.each([{ max_total_tokens: 0 }, { max_cost_usd: 0 }])('of nothing let nothing through: %j', async (config) => {
    const task = aTask(await tenantWith({}), config);
    const failure = await failureOf(fixture.runtime.run(task));
    expect(failure).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { status: 'budget_exceeded', iterations: 0 } });
    expect(fixture.modelCalls(task.task_id)).toEqual([]);
  });

  it('in money refuse a model without a price', async () => {
    const task = aTask(await tenantWith({}), { max_cost_usd: '0.01', model_override: 'acme/unpriced' });
    expect((await failureOf(fixture.runtime.run(task))).code).toBe('MODEL_UNPRICED');
  });
});

describe('the bill is written', () => {
  it.each([
    ['NUL in the name of an argument', { arguments: { 'a\0b': 1 } }],
    ['half a character in the name of an argument', { arguments: { 'a\ud800b': { 'c\udc00': 1 } } }],
  ])('and the audit too, although the model sent %s', async (_what, call) => {
    const tenantId = await tenantWith({ monthly_token_limit: 100_000 });
    const task = aTask(tenantId);
    fixture.models.script(toolReply([{ name: 'echo', ...call }]), textReply('Done'));
    const result = await fixture.runtime.run(task);
    expect(result.warnings).toEqual([]);
    expect(await monthOf(tenantId)).toBe(240);
    const lines = await fixture.database.query('SELECT tool FROM elo_tool_executions WHERE tenant_id = $1', [tenantId]);
    expect(lines).toEqual([{ tool: 'echo' }]);
  });

  it('although a plugged-in model gives ids of ten thousand characters', async () => {
    const tenantId = await tenantWith({});
    const task = aTask(tenantId);
    fixture.models.script(textReply('Done'));
    const { run_id: runId } = await fixture.runtime.run(task);
    const execution = {
      step: 1,
      tool: 'echo',
      arguments: {},
      decision: 'allow',
      isRepeatable: false,
      wasSent: true,
      durationMs: 1,
    } as const;
    const ids = [1, 2].map(() => Array.from({ length: 280 }, () => randomUUID()).join(''));
    await withLedger((ledger) =>
      ledger.record({
        ...{ tenantId, taskId: task.task_id, runId, closed: [], leaseMs: 1 },
        audit: ids.map((id) => ({ ...execution, id })),
      }),
    );
    const lines = await fixture.database.query('SELECT tool FROM elo_tool_executions WHERE run_id = $1', [runId]);
    expect(lines).toHaveLength(2);
  });

  it('and nothing is taken from a run that waits by a write that comes late', async () => {
    const tenantId = await tenantWith(asking);
    const task = aTask(tenantId);
    fixture.models.script(toolReply([{ name: 'pay' }]));
    const waiting = await fixture.runtime.run(task);
    await withLedger((ledger) =>
      ledger.record({ tenantId, taskId: task.task_id, runId: waiting.run_id, closed: [], leaseMs: 60_000 }),
    );
    expect(await fixture.runRow(task.task_id)).toMatchObject({ state: 'waiting', lease_until: null });
    fixture.models.script(textReply('Paid'));
    await expect(fixture.runtime.run(approve(tenantId, waiting.run_id))).resolves.toMatchObject({
      status: 'completed',
    });
  });

  it('in order: the end of a run comes after a write that nobody waits for any more', async () => {
    const ends: (string | undefined)[] = [];
    const record = startRunRecord({
      ledger: {
        ...createMemoryLedger(),
        record: async ({ end }) => {
          if (end === undefined) await new Promise((resolve) => setTimeout(resolve, 100));
          ends.push(end?.state);
          return { isOurs: true };
        },
      },
      key: { tenantId: randomUUID(), taskId: 'task', runId: randomUUID() },
      leaseMs: 60_000,
      settleRetries: 0,
    });
    const controller = new AbortController();
    const next = record.next({ opening: { step: 2, modelRequested: 'm' }, taking: [] }, controller.signal);
    controller.abort();
    await record.settle({ state: 'failed', result: {} as AgentResult, lastStep: 1 });
    expect(ends).toEqual([undefined, 'failed']);
    await next;
  });
});

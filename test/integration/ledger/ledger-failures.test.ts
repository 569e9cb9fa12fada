import { Client } from 'pg';

import type { AgentResult, LedgerStore, RunProgress } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { sendJson } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import {
  type AgentFixture,
  aTask,
  eventually,
  failureOf,
  gate,
  startAgentFixture,
  type TestTask,
} from '../../support/values/agent-fixture';

let agent: AgentFixture;
let postgres: Postgres | undefined;
let recordAs: (progress: RunProgress, record: LedgerStore['record']) => ReturnType<LedgerStore['record']>;

beforeAll(async () => {
  agent = await startAgentFixture(({ url }) => ({ ledger: interruptedLedger(url) }));
});
beforeEach(() => {
  recordAs = (progress, record) => record(progress);
});
afterAll(async () => {
  await agent.close();
  await postgres?.close();
});

/** The real ledger, between whose writes a test can put a fault. */
function interruptedLedger(url: string): LedgerStore {
  postgres = createPostgres({ url, maxConnections: 3 });
  const real = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  return { ...real, record: (progress) => recordAs(progress, real.record) };
}

const rename = (from: string, to: string) => agent.database.query(`ALTER TABLE ${from} RENAME TO ${to}`);
const killConnections = () =>
  agent.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'universal-ai-agent'`,
  );
const aStep = toolReply([{ name: 'echo' }], { prompt: 1000, completion: 140 });
const anAnswer = textReply('The answer.', { prompt: 250, completion: 200 });
const wholeBill = [{ total_tokens: 1590, cost_usd: '0.00039150', model_calls: 2 }];

/** Does something while the model is thinking, then lets it answer. */
function meanwhile(action: () => Promise<unknown>, reply: { readonly body: unknown }): ScriptedReply {
  return async (_request, response) => {
    await action();
    sendJson(response, reply.body);
  };
}

it('goes on over lost connections, and loses and doubles nothing', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(meanwhile(killConnections, aStep), meanwhile(killConnections, anAnswer));
  const result = await agent.runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', warnings: [], cost_usd: '0.00039150' });
  expect(await agent.usageRows(task.task_id)).toMatchObject(wholeBill);
});

it('settles again when the connection is killed during the write', async () => {
  const task = aTask(agent.tenantId);
  const blocker = new Client({ connectionString: agent.database.url });
  await blocker.connect();
  agent.models.script(
    aStep,
    meanwhile(async () => {
      await blocker.query('BEGIN');
      await blocker.query('LOCK TABLE elo_t_token_usage IN ACCESS EXCLUSIVE MODE');
    }, anAnswer),
  );
  const run = agent.runtime.run(task);
  await eventually(async () => {
    const [row] = await agent.database.query<{ killed: boolean }>(
      `SELECT pg_terminate_backend(pid) AS killed FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'universal-ai-agent'`,
    );
    return row;
  });
  await blocker.query('ROLLBACK');
  await blocker.end();
  await expect(run).resolves.toMatchObject({ status: 'completed', warnings: [] });
  expect(await agent.usageRows(task.task_id)).toMatchObject(wholeBill);
  expect(await agent.runRow(task.task_id)).toMatchObject({ state: 'done' });
});

it('sends no tool call that is not on record; the next attempt goes on from there', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(meanwhile(() => rename('elo_t_token_usage', 'elo_t_token_usage_away'), aStep));
  // The table is back when the run has given up the step and writes its end.
  let isBack = false;
  recordAs = async (progress, record) => {
    if (progress.end !== undefined && !isBack) {
      isBack = true;
      await rename('elo_t_token_usage_away', 'elo_t_token_usage');
    }
    return record(progress);
  };
  const failure = await failureOf(agent.runtime.run(task));
  expect(failure).toMatchObject({ code: 'DB_SCHEMA_MISSING', result: { result: { tool_calls: [] } } });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1140, model_calls: 1 }]);

  agent.models.script(anAnswer);
  const result = await agent.runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', result: { tool_calls: [{ tool: 'echo' }] } });
  expect(result.result.tool_calls).toHaveLength(1);
  expect(await agent.usageRows(task.task_id)).toMatchObject(wholeBill);
});

it('settles when the ledger comes back between two tries', async () => {
  const task = aTask(agent.tenantId);
  let failures = 0;
  recordAs = async (progress, record) =>
    record(progress).catch(async (error: unknown) => {
      if (++failures === 2) await rename('elo_t_token_usage_away', 'elo_t_token_usage');
      throw error;
    });
  agent.models.script(
    aStep,
    meanwhile(() => rename('elo_t_token_usage', 'elo_t_token_usage_away'), anAnswer),
  );
  const result = await agent.runtime.run(task);
  expect(failures).toBe(2);
  expect(result).toMatchObject({ status: 'completed', warnings: [] });
  expect(await agent.usageRows(task.task_id)).toMatchObject(wholeBill);
});

it('adds nothing twice when a write arrived but its confirmation did not', async () => {
  const task = aTask(agent.tenantId);
  const seen = new Set<string>();
  recordAs = async (progress, record) => {
    const outcome = await record(progress);
    const step = JSON.stringify([progress.opening, progress.end?.state]);
    if (seen.has(step)) return outcome;
    seen.add(step);
    throw new Error('the confirmation was lost');
  };
  agent.models.script(aStep, anAnswer);
  const result = await agent.runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', warnings: [] });
  expect(await agent.usageRows(task.task_id)).toMatchObject(wholeBill);
  await expect(agent.runtime.run(task)).resolves.toEqual({ ...result, replayed: true });
});

describe('a ledger that stays away for longer than the retries', () => {
  let answered: AgentResult;
  let failed: Awaited<ReturnType<typeof failureOf>>;
  let task: TestTask;

  // Both runs at once, since each tries for several seconds.
  beforeAll(async () => {
    const isTried = gate();
    const failing = aTask(agent.tenantId, { max_iterations: 1 });
    recordAs = (progress, record) => {
      if (progress.taskId !== failing.task_id) return record(progress);
      isTried.open();
      return Promise.reject(new Error(`no ${progress.end === undefined ? 'step' : 'end'} today`));
    };
    agent.models.script(aStep);
    const failure = failureOf(agent.runtime.run(failing));
    await isTried.opened;
    task = aTask(agent.tenantId);
    agent.models.script(
      aStep,
      meanwhile(() => rename('elo_t_token_usage', 'elo_t_token_usage_away'), anAnswer),
    );
    answered = await agent.runtime.run(task);
    await rename('elo_t_token_usage_away', 'elo_t_token_usage');
    failed = await failure;
  });

  it('does not take the answer away, and is told with the usage to book by hand', async () => {
    expect(answered).toMatchObject({ status: 'completed', result: { text: 'The answer.' }, cost_usd: '0.00039150' });
    expect(answered.warnings).toMatchObject([{ code: 'LEDGER_WRITE_FAILED' }]);
    // The first step had been written; only the second is missing.
    expect(answered.warnings[0]?.message).toContain('Not written: openai/gpt-4o-mini 250+200 tokens $0.0001575.');
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1140, model_calls: 1 }]);
  });

  it('is told also when the run itself failed', () => {
    expect(failed).toMatchObject({ code: 'INTERNAL_ERROR', result: { status: 'failed' } });
    expect(failed.result?.warnings).toMatchObject([
      { code: 'LEDGER_WRITE_FAILED', message: expect.stringContaining('no end today') as string },
    ]);
  });
});

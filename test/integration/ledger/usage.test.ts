import type { ServerResponse } from 'node:http';

import { type AgentResult, createRuntime } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

interface UsageReport {
  readonly usage: readonly Record<string, unknown>[];
  readonly unknown_usage: readonly Record<string, unknown>[];
}

const cli = (tenantId: string, ...more: string[]) =>
  runCli(['usage', 'summary', '--tenant', tenantId, ...more], { env: { DATABASE_URL: agent.database.url } });

async function usageOf(tenantId: string): Promise<UsageReport> {
  const { exitCode, stdout, stderr } = await cli(tenantId);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const unknown = await runCli(['usage', 'unknown', '--tenant', tenantId], {
    env: { DATABASE_URL: agent.database.url },
  });
  return { ...(JSON.parse(stdout) as UsageReport), ...(JSON.parse(unknown.stdout) as UsageReport) };
}

it("adds up a tenant's months by model and tier, newest first, and nobody else's", async () => {
  const tenantId = await addTenant(agent.database);
  agent.models.script(
    textReply('1', { prompt: 1250, completion: 340 }),
    textReply('2', { prompt: 1250, completion: 340 }),
    textReply('3', { prompt: 100, completion: 100 }),
    textReply('4', { prompt: 1, completion: 1 }),
  );
  const old = aTask(tenantId);
  await agent.runtime.run(old);
  await agent.runtime.run(aTask(tenantId));
  await agent.runtime.run(aTask(tenantId, { agent_tier: 'optima' }));
  await agent.runtime.run(aTask(agent.tenantId));
  await agent.database.query(`UPDATE elo_t_token_usage SET created_at = '2024-02-29 12:00+00' WHERE task_id = $1`, [
    old.task_id,
  ]);

  const { usage: months, unknown_usage } = await usageOf(tenantId);
  expect(unknown_usage).toEqual([]);
  const line = { request_count: 1, total_prompt_tokens: '1250', total_completion_tokens: '340', total_tokens: '1590' };
  const noCache = {
    total_cached_tokens: '0',
    total_cache_written_tokens: '0',
    total_reasoning_tokens: '0',
    total_saved_usd: '0.00000000',
  };
  expect(months).toEqual([
    {
      ...noCache,
      month: expect.stringMatching(/^\d{4}-\d{2}$/) as string,
      model_id: 'anthropic/claude-3-haiku',
      agent_tier: 'optima',
      request_count: 1,
      total_prompt_tokens: '100',
      total_completion_tokens: '100',
      total_tokens: '200',
      total_cost_usd: '0.00015000',
    },
    expect.objectContaining({ model_id: 'openai/gpt-4o-mini', ...line, total_cost_usd: '0.00039150' }),
    {
      ...noCache,
      month: '2024-02',
      model_id: 'openai/gpt-4o-mini',
      agent_tier: 'pro',
      ...line,
      total_cost_usd: '0.00039150',
    },
  ]);
});

it('lists a model call that never got an answer, and not one that is under way', async () => {
  const tenantId = await addTenant(agent.database);
  const task = aTask(tenantId);
  const cancel = new AbortController();
  let duringTheCall: UsageReport | undefined;
  agent.models.script(toolReply([{ name: 'echo' }]), async () => {
    duringTheCall = await usageOf(tenantId);
    cancel.abort();
  });
  await failureOf(agent.runtime.run(task, { signal: cancel.signal }));
  expect(duringTheCall?.unknown_usage).toEqual([]);
  const { unknown_usage: unknown } = await usageOf(tenantId);
  expect(unknown).toEqual([
    {
      task_id: task.task_id,
      run_id: (await agent.runRow(task.task_id)).run_id,
      call_no: 2,
      step: 2,
      purpose: 'step',
      model_requested: 'openai/gpt-4o-mini',
      opened_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T.+Z$/) as string,
      requests: 1,
      unbilled_cost_usd: null,
      unbilled_tokens: null,
    },
  ]);
});

it('lists each request of a call that was lost', async () => {
  const tenantId = await addTenant(agent.database);
  const task = aTask(tenantId);
  const patient = createRuntime({
    database: { url: agent.database.url },
    model: { apiKey: 'k', baseUrl: agent.models.url, maxRetries: 2 },
  });
  const lose = (_request: unknown, response: ServerResponse): void => void response.destroy();
  agent.models.script(lose, lose, lose);
  await failureOf(patient.run(task));
  await patient.close();
  expect((await usageOf(tenantId)).unknown_usage).toMatchObject([{ task_id: task.task_id, call_no: 1, requests: 3 }]);
});

it('goes on listing the call while the task is run again, and after', async () => {
  const tenantId = await addTenant(agent.database);
  const task = aTask(tenantId);
  let duringTheSecond: UsageReport | undefined;
  agent.models.script(
    (_request, response) => void response.destroy(),
    async (_request, response) => {
      duringTheSecond = await usageOf(tenantId);
      sendJson(response, textReply('Done.').body);
    },
  );
  const { result } = await failureOf(agent.runtime.run(task));
  await agent.runtime.run(task);
  const unknown = [{ task_id: task.task_id, run_id: result?.run_id, call_no: 1 }];
  expect(duringTheSecond?.unknown_usage).toMatchObject(unknown);
  expect((await usageOf(tenantId)).unknown_usage).toMatchObject(unknown);
});

describe('by whom a task was for', () => {
  it.each(['client', 'dialog', 'user', 'session'])('adds up the bill of each %s', async (by) => {
    const tenantId = await addTenant(agent.database);
    const tasks = [
      ['a', 'pro'],
      ['b', 'pro'],
      ['a', 'optima'],
      [undefined, 'pro'],
    ] as const;
    for (const [id, tier] of tasks) {
      agent.models.script(textReply('Done.', { prompt: 1000, completion: 100 }));
      const task = aTask(tenantId, { agent_tier: tier });
      await agent.runtime.run({ ...task, meta: { ...task.meta, [`${by}_id`]: id } });
    }
    const { exitCode, stdout } = await cli(tenantId, '--by', `month,${by}`);
    expect(exitCode).toBe(0);
    const { usage: months } = JSON.parse(stdout) as UsageReport;
    const bill = months.map((row) => [row[`${by}_id`], row.request_count, row.total_tokens, row.total_cost_usd]);
    expect(bill).toEqual([
      ['a', 2, '2200', '0.00058500'],
      ['b', 1, '1100', '0.00021000'],
      [null, 1, '1100', '0.00021000'],
    ]);
    expect(months[0]).not.toHaveProperty('model_id');
  });

  it('stays as it is when a line comes late that an older version kept', async () => {
    const tenantId = await addTenant(agent.database);
    const task = aTask(tenantId);
    agent.models.script(textReply('Done.'));
    const { run_id: runId } = await agent.runtime.run({ ...task, meta: { ...task.meta, client_id: 'a' } });
    const postgres = createPostgres({ url: agent.database.url, maxConnections: 1 });
    const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
    const bill = { tier: 'pro', taskType: 'ai_agent', modelRequested: 'a/b' };
    const end = { state: 'done', result: {} as AgentResult, lastStep: 1 } as const;
    await ledger
      .record({ tenantId, taskId: task.task_id, runId, leaseMs: 1000, closed: [], bill, end })
      .finally(() => postgres.close());
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ run_client_id: 'a', total_tokens: 120 }]);
  });

  it('refuses a group that there is none of', async () => {
    const { exitCode, stderr } = await cli(agent.tenantId, '--by', 'tool');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--by is one of: tenant, month, day, model, tier, client, dialog, user, session.');
  });
});

it('shows a tenant without usage as such', async () => {
  const tenantId = await addTenant(agent.database);
  expect(await usageOf(tenantId)).toEqual({ usage: [], unknown_usage: [] });
});

it('takes the name of a tenant that no other has', async () => {
  const name = 'Ada & Söhne "GmbH"';
  const tenantId = await addTenant(agent.database, { name });
  expect(await usageOf(name)).toEqual({ usage: [], unknown_usage: [] });
  await addTenant(agent.database, { name });
  const { exitCode, stdout, stderr } = await cli(name);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({
    code: 'TENANT_AMBIGUOUS',
    message: expect.stringContaining(tenantId) as string,
  });
});

it('refuses a name that no tenant has', async () => {
  const { exitCode, stdout, stderr } = await cli('uuid-here');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({
    code: 'TENANT_NOT_FOUND',
    message: expect.stringContaining('uuid-here') as string,
  });
});

it('refuses a tenant that does not exist, instead of an empty bill', async () => {
  const { exitCode, stdout, stderr } = await cli('00000000-0000-4000-8000-000000000000');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({ code: 'TENANT_NOT_FOUND' });
});

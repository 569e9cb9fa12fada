import { randomUUID } from 'node:crypto';

import type { AgentResult } from '../../../runtime';
import { startRunRecord } from '../../../runtime/ledger/run-record';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { pruneStatements } from '../../../runtime/storage/sql/ledger/prune-runs';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import {
  type AgentFixture,
  aTask,
  eventually,
  failureOf,
  gate,
  startAgentFixture,
} from '../../support/values/agent-fixture';
import { heldReply } from '../../support/values/held-reply';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

const refusal = { status: 400, body: { error: { message: 'the request is malformed' } } };

const letLeaseLapse = (taskId: string) =>
  agent.database.query(`UPDATE elo_agent_runs SET lease_until = now() - interval '1 second' WHERE task_id = $1`, [
    taskId,
  ]);

describe('the same task again', () => {
  it('gives back the stored result without a model call', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(toolReply([{ name: 'echo', arguments: { a: 1 } }]), textReply('The answer.'));
    const first = await agent.runtime.run(task);
    const again = await agent.runtime.run(task);
    expect(again).toEqual({ ...first, replayed: true });
    expect(first).not.toHaveProperty('replayed');
    expect(agent.modelCalls(task.task_id)).toHaveLength(2);
    expect(await agent.usageRows(task.task_id)).toHaveLength(1);
  });

  it('is the same for another trace and another callback', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(textReply('The answer.'));
    await agent.runtime.run(task);
    const again = { ...task, trace_id: 'trace-2', callback: { result_key: 'elo:results:2' } };
    await expect(agent.runtime.run(again)).resolves.toMatchObject({ replayed: true, trace_id: 'trace-1' });
  });

  it('is another task for another tenant', async () => {
    const task = aTask(agent.tenantId);
    const other = aTask(await addTenant(agent.database), {}, task.task_id);
    agent.models.script(textReply('For one.'), textReply('For the other.'));
    await agent.runtime.run(task);
    await expect(agent.runtime.run(other)).resolves.toMatchObject({ result: { text: 'For the other.' } });
    expect(await agent.usageRows(task.task_id)).toHaveLength(2);
  });

  it('runs anew when a fresh run is asked for, as a new attempt on the same line', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(textReply('First.'), textReply('Second.'));
    await agent.runtime.run(task);
    await expect(agent.runtime.run(task, { fresh: true })).resolves.toMatchObject({ result: { text: 'Second.' } });
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ replayed: true, result: { text: 'Second.' } });
    expect(await agent.runRow(task.task_id)).toMatchObject({ attempt: 2 });
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
  });

  it('runs anew under a changed request when a fresh run is asked for', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(textReply('First.'), textReply('Second.'));
    await agent.runtime.run(task);
    const changed = aTask(agent.tenantId, { temperature: 1 }, task.task_id);
    await expect(agent.runtime.run(changed, { fresh: true })).resolves.toMatchObject({ result: { text: 'Second.' } });
  });

  it('may be tried again when it failed', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(refusal);
    await failureOf(agent.runtime.run(task));
    agent.models.script(textReply('The answer.'));
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ result: { text: 'The answer.' } });
    expect(await agent.runRow(task.task_id)).toMatchObject({ attempt: 2, state: 'done' });
  });
});

it('refuses the same id for another request, without a model call', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(textReply('The answer.'));
  await agent.runtime.run(task);
  const error = await failureOf(agent.runtime.run(aTask(agent.tenantId, { temperature: 1 }, task.task_id)));
  expect(error).toMatchObject({ code: 'TASK_CONFLICT', retryable: false });
  expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  expect(await agent.runRow(task.task_id)).toMatchObject({ state: 'done', attempt: 1 });
});

it('refuses the same id for another request also when the first one failed or was lost', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(refusal);
  await failureOf(agent.runtime.run(task));
  const other = aTask(agent.tenantId, { temperature: 1 }, task.task_id);
  await expect(agent.runtime.run(other)).rejects.toMatchObject({ code: 'TASK_CONFLICT' });
  await agent.database.query(`UPDATE elo_agent_runs SET state = 'running' WHERE task_id = $1`, [task.task_id]);
  await letLeaseLapse(task.task_id);
  await expect(agent.runtime.run(other)).rejects.toMatchObject({ code: 'TASK_CONFLICT' });
  expect(agent.modelCalls(task.task_id)).toHaveLength(1);
});

describe('a task that runs elsewhere', () => {
  it('is waited for, and its stored result comes back', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(textReply('The answer.'));
    agent.models.script(held.reply);
    const first = agent.runtime.run(task);
    await held.asked;
    const second = agent.runtime.run(task);
    held.open();
    await expect(first).resolves.toMatchObject({ result: { text: 'The answer.' } });
    await expect(second).resolves.toEqual({ ...(await first), replayed: true });
    expect(agent.modelCalls(task.task_id)).toHaveLength(1);
    expect(await agent.usageRows(task.task_id)).toHaveLength(1);
  });

  it('is reported as running when the second caller has waited past its own deadline', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(textReply('The answer.'));
    agent.models.script(held.reply);
    const first = agent.runtime.run(task);
    await held.asked;
    const error = await failureOf(agent.runtime.run(aTask(agent.tenantId, { timeout_seconds: 0.2 }, task.task_id)));
    expect(error).toMatchObject({ code: 'TASK_RUNNING', retryable: true });
    held.open();
    await expect(first).resolves.toMatchObject({ status: 'completed' });
    expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  });

  it('is not waited for by a caller that was cancelled', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(textReply('The answer.'));
    agent.models.script(held.reply);
    const first = agent.runtime.run(task);
    await held.asked;
    const error = await failureOf(agent.runtime.run(task, { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    held.open();
    await expect(first).resolves.toMatchObject({ status: 'completed' });
  });

  it('is run by the waiting caller when it fails', async () => {
    const task = aTask(agent.tenantId);
    const failing = gate();
    const asked = gate();
    agent.models.script(async (_request, response) => {
      asked.open();
      await failing.opened;
      sendJson(response, refusal.body, refusal.status);
    }, textReply('The second answer.'));
    const first = failureOf(agent.runtime.run(task));
    await asked.opened;
    const second = agent.runtime.run(task);
    failing.open();
    await expect(first).resolves.toMatchObject({ code: 'LLM_BAD_REQUEST' });
    await expect(second).resolves.toMatchObject({ result: { text: 'The second answer.' } });
  });

  it('is run once by ten callers at the same moment', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(textReply('The answer.'));
    const results = await Promise.all(Array.from({ length: 10 }, () => agent.runtime.run(task)));
    expect(new Set(results.map(({ run_id }) => run_id)).size).toBe(1);
    expect(results.filter(({ replayed }) => replayed !== true)).toHaveLength(1);
    expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  });
});

describe('a task whose lease has lapsed', () => {
  it('is taken over; the lost attempt adds its usage, changes neither state nor result, and stops', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(toolReply([{ name: 'echo' }], { prompt: 1000, completion: 140 }));
    agent.models.script(held.reply, textReply('The answer.', { prompt: 250, completion: 200 }));
    const lost = failureOf(agent.runtime.run(task));
    await held.asked;
    await letLeaseLapse(task.task_id);
    const result = await agent.runtime.run(task);
    const before = await agent.runRow(task.task_id);
    held.open();

    const error = await lost;
    expect(error).toMatchObject({ code: 'RUN_TAKEN_OVER', result: { status: 'failed', tokens: { total: 1140 } } });
    expect(await agent.runRow(task.task_id)).toEqual(before);
    expect(before).toMatchObject({ state: 'done', attempt: 2, run_id: result.run_id });
    expect(agent.modelCalls(task.task_id)).toHaveLength(2);
    expect(await agent.usageRows(task.task_id)).toMatchObject([
      { total_tokens: 1590, cost_usd: '0.00039150', model_calls: 2 },
    ]);
    await expect(agent.runtime.run(task)).resolves.toEqual({ ...result, replayed: true });
  });

  it('has one answer: a lost attempt that comes to its own does not give it back', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(textReply('The lost answer.', { prompt: 1000, completion: 140 }));
    agent.models.script(held.reply, textReply('The answer.', { prompt: 250, completion: 200 }));
    const lost = failureOf(agent.runtime.run(task));
    await held.asked;
    await letLeaseLapse(task.task_id);
    const result = await agent.runtime.run(task);
    held.open();
    const error = await lost;
    expect(error).toMatchObject({ code: 'RUN_TAKEN_OVER', result: { status: 'failed', cost_usd: '0.00023400' } });
    expect(error.result?.warnings).toEqual([]);
    await expect(agent.runtime.run(task)).resolves.toEqual({ ...result, replayed: true });
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590, cost_usd: '0.00039150' }]);
  });

  it('goes on undisturbed when nobody took it over', async () => {
    const task = aTask(agent.tenantId);
    const held = heldReply(toolReply([{ name: 'echo' }]));
    agent.models.script(held.reply, textReply('The answer.'));
    const run = agent.runtime.run(task);
    await held.asked;
    await letLeaseLapse(task.task_id);
    held.open();
    await expect(run).resolves.toMatchObject({ status: 'completed', result: { text: 'The answer.' } });
    expect(await agent.runRow(task.task_id)).toMatchObject({ state: 'done', attempt: 1 });
  });
});

it('renews the lease during a model call that takes longer than the lease', async () => {
  const postgres = createPostgres({ url: agent.database.url, maxConnections: 2 });
  const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  const leaseMs = 1_500;
  const key = { tenantId: agent.tenantId, taskId: randomUUID(), runId: randomUUID() };
  const request = { ...key, digest: 'd'.repeat(64), fresh: false, leaseMs, modelRequested: 'a/model' };
  await ledger.claim(request);
  const record = startRunRecord({ ledger, key, leaseMs, settleRetries: 0 });
  const lease = async () => (await agent.runRow(key.taskId)).lease_until?.getTime() ?? 0;
  const first = await lease();
  // The lease of the claim is over by the database's own clock, and the run still holds the task.
  await eventually(async () => ((await lease()) > first + leaseMs ? true : undefined));
  await expect(ledger.claim({ ...request, runId: randomUUID() })).resolves.toEqual({ kind: 'running' });

  await record.settle({ state: 'done', result: { task_id: key.taskId } as AgentResult, lastStep: 0 });
  expect(await agent.runRow(key.taskId)).toMatchObject({ state: 'done', lease_until: null, run_id: key.runId });
  await ledger.close();
  await postgres.close();
});

it('keeps stored results for 30 days, and the billing line for ever', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(textReply('The answer.'));
  await agent.runtime.run(task);
  const postgres = createPostgres({ url: agent.database.url, maxConnections: 1 });
  const age = (days: number) =>
    agent.database.query(`UPDATE elo_agent_runs SET updated_at = now() - $2 * interval '1 day' WHERE task_id = $1`, [
      task.task_id,
      days,
    ]);
  await age(29);
  for (const statement of pruneStatements(90)) await postgres.query(statement);
  await expect(agent.runtime.run(task)).resolves.toMatchObject({ replayed: true });
  await age(31);
  for (const statement of pruneStatements(90)) await postgres.query(statement);
  await expect(agent.runRow(task.task_id)).rejects.toThrow('never claimed');
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 120 }]);
  await postgres.close();
});

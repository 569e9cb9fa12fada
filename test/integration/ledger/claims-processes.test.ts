import type { AgentResult } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, eventually, gate, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli, startCli } from '../../support/worlds/cli';

let agent: AgentFixture;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  agent = await startAgentFixture();
  env = {
    DATABASE_URL: agent.database.url,
    OPENROUTER_API_KEY: 'sk-test-key',
    OPENROUTER_BASE_URL: agent.models.url,
  };
});
afterAll(() => agent.close());

const answerOf = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout) as AgentResult;

it('lets one of three processes run a task, and all three print its answer', async () => {
  const task = aTask(agent.tenantId);
  const waiters = async () => {
    const [row] = await agent.database.query<{ open: number }>(
      `SELECT count(DISTINCT pid)::int AS open FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'universal-ai-agent'`,
    );
    return row?.open ?? 0;
  };
  agent.models.script(async (_request, response) => {
    // The model answers when the other two have come to the database as well.
    await eventually(async () => ((await waiters()) >= 3 ? true : undefined));
    sendJson(response, textReply('The one answer.', { prompt: 1250, completion: 340 }).body);
  });
  const processes = [1, 2, 3].map(() => runCli(['run', '--task', '-'], { env, input: JSON.stringify(task) }));
  const outcomes = await Promise.all(processes);

  expect(outcomes.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
    Array.from({ length: 3 }, () => ({ exitCode: 0, stderr: '' })),
  );
  const results = outcomes.map(answerOf);
  expect(results.filter(({ replayed }) => replayed === true)).toHaveLength(2);
  const [first, ...others] = results.map(({ replayed: _replayed, ...result }) => result);
  expect(first?.result.text).toBe('The one answer.');
  expect(others).toEqual([first, first]);
  expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ model_calls: 1, cost_usd: '0.00039150' }]);
});

it('lists the call of a process that was killed as unknown usage, and lets the task be run again after the lease', async () => {
  const tenantId = await addTenant(agent.database);
  const task = aTask(tenantId);
  const asked = gate();
  agent.models.script(toolReply([{ name: 'echo' }], { prompt: 1000, completion: 140 }), () => asked.open());
  const killed = startCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });
  await asked.opened;
  killed.process.kill('SIGKILL');
  await expect(killed.ended).resolves.toEqual({ exitCode: null, stdout: '', stderr: '' });
  // What the process had written before it died is billed.
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1140, model_calls: 1 }]);

  const impatient = JSON.stringify(aTask(tenantId, { timeout_seconds: 0.2 }, task.task_id));
  const early = await runCli(['run', '--task', '-'], { env, input: impatient });
  expect(early.exitCode).toBe(1);
  expect(JSON.parse(early.stderr)).toMatchObject({ code: 'TASK_RUNNING' });

  await agent.database.query(`UPDATE elo_agent_runs SET lease_until = now() WHERE task_id = $1`, [task.task_id]);
  const usage = async (verb: string): Promise<unknown> =>
    JSON.parse((await runCli(['usage', verb, '--tenant', tenantId], { env })).stdout) as unknown;
  const unknown = [{ task_id: task.task_id, call_no: 2, model_requested: 'openai/gpt-4o-mini' }];
  expect(await usage('unknown')).toMatchObject({ unknown_usage: unknown });

  agent.models.script(textReply('The answer.', { prompt: 250, completion: 200 }));
  const again = await runCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });
  expect(again).toMatchObject({ exitCode: 0, stderr: '' });
  expect(answerOf(again)).toMatchObject({ result: { text: 'The answer.' }, tokens: { total: 450 } });
  expect(await agent.usageRows(task.task_id)).toMatchObject([
    { total_tokens: 1590, cost_usd: '0.00039150', model_calls: 2 },
  ]);
  expect(await usage('unknown')).toMatchObject({ unknown_usage: unknown });
  expect(await usage('summary')).toMatchObject({
    usage: [{ request_count: 1, total_tokens: '1590', total_cost_usd: '0.00039150' }],
  });
});

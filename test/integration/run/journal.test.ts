import { randomUUID } from 'node:crypto';

import { createRuntime, type Model, type Runtime } from '../../../runtime';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { pruneStatements } from '../../../runtime/storage/sql/ledger/prune-runs';
import { sendJson } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { aTask, eventually, failureOf, gate, type TestTask } from '../../support/values/agent-fixture';
import { assertPaired, crashWorld, toolTexts } from '../../support/worlds/crash-world';
import { aVaultKey, dumpDatabase } from '../../support/worlds/vault';

const world = crashWorld();
const agent = () => world.agent();
const models = () => world.agent().models;
const usage = { prompt: 1000, completion: 100 };
const down: ScriptedReply = { status: 500, body: { error: { message: 'down' } } };
const refusal: ScriptedReply = { status: 400, body: { error: { message: 'no' } } };
const containing = (text: string) => expect.stringContaining(text) as string;

const opened: Runtime[] = [];
afterEach(() => Promise.all(opened.splice(0).map((runtime) => runtime.close())));

/** Another process on the same database, as far as a task can tell. */
function anotherRuntime(vaultKey?: string, model?: Model): Runtime {
  const runtime = createRuntime({
    database: { url: agent().database.url, maxConnections: 2 },
    model: { apiKey: 'sk-test-key', baseUrl: models().url, maxRetries: 0 },
    ...(vaultKey === undefined ? {} : { vaultKey }),
    plugins: { model },
  });
  opened.push(runtime);
  return runtime;
}

/** A run whose second model call fails after a call of `pay`. */
async function failedRun(task: TestTask, runtime: Runtime = agent().runtime) {
  models().script(toolReply([{ name: 'pay', arguments: { n: 7 }, id: 'a' }], usage), refusal);
  return failureOf(runtime.run(task));
}

const lastRequest = () => {
  const request = models().received.at(-1);
  if (request === undefined) throw new Error('no model was asked');
  assertPaired(request);
  return request;
};

describe('a second attempt at a task that failed', () => {
  it('goes on where the first ended', async () => {
    const task = await world.newTask();
    models().script(toolReply([{ name: 'pay', arguments: { n: 7 }, id: 'a' }], usage), down);
    const failure = await failureOf(agent().runtime.run(task));
    expect(failure).toMatchObject({ code: 'LLM_UNAVAILABLE', result: { iterations: 2 } });
    const asked = lastRequest().messages;

    models().script(textReply('Paid.', usage));
    const result = await agent().runtime.run(task);
    expect(result).toMatchObject({ status: 'completed', iterations: 1, tokens: { total: 1100 } });
    expect(result.result.tool_calls).toMatchObject([{ tool: 'pay', result: { done: 'pay' } }]);
    expect(lastRequest().messages).toEqual(asked);
    expect(world.received('pay', task.task_id)).toBe(1);
    expect(await agent().usageRows(task.task_id)).toMatchObject([{ total_tokens: 2200 }]);
    expect(await world.journalRows(task.task_id)).toEqual([]);
  });

  it('begins anew when that is asked for', async () => {
    const task = await world.newTask();
    await failedRun(task);
    models().script(refusal);
    await failureOf(agent().runtime.run(task, { fresh: true }));
    expect(await world.journalRows(task.task_id)).toEqual([]);
    models().script(textReply('From the beginning.', usage));
    const result = await agent().runtime.run(task);
    expect(result.result).toEqual({ text: 'From the beginning.', tool_calls: [] });
    expect(lastRequest().messages).toHaveLength(1);
    expect((await world.modelCallRows(task.task_id)).slice(2)).toEqual([
      { attempt: 2, step: 1, closed: true },
      { attempt: 3, step: 1, closed: true },
    ]);
  });

  it('is a conflict with another request, and leaves the journal as it is', async () => {
    const task = await world.newTask();
    await failedRun(task);
    const other = aTask(task.meta.tenant_id, { temperature: 1 }, task.task_id);
    await expect(agent().runtime.run(other)).rejects.toMatchObject({ code: 'TASK_CONFLICT' });
    expect(await world.journalRows(task.task_id)).toHaveLength(2);
  });

  it('fails again at once when the iterations are used up, and spends nothing', async () => {
    const plain = await world.newTask();
    const task = { ...plain, config: { ...plain.config, max_iterations: 1 } };
    models().script(toolReply([{ name: 'pay', id: 'a' }], usage));
    expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code: 'MAX_ITERATIONS_REACHED' });
    models().script();
    const again = await failureOf(agent().runtime.run(task));
    expect(again).toMatchObject({ code: 'MAX_ITERATIONS_REACHED', result: { iterations: 0, tokens: { total: 0 } } });
    expect(again.result?.result.tool_calls).toHaveLength(1);
    expect(world.received('pay', task.task_id)).toBe(1);
    expect(await world.modelCallRows(task.task_id)).toEqual([{ attempt: 1, step: 1, closed: true }]);
  });

  it('fails again at once when the model goes in circles', async () => {
    const plain = await world.newTask();
    const task = { ...plain, config: { ...plain.config, max_identical_calls: 3 } };
    models().script(...Array.from({ length: 4 }, () => toolReply([{ name: 'look', arguments: { n: 1 } }], usage)));
    expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code: 'LOOP_DETECTED' });
    models().script();
    const again = await failureOf(agent().runtime.run(task));
    expect(again).toMatchObject({ code: 'LOOP_DETECTED', result: { iterations: 0 } });
    expect(world.received('look', task.task_id)).toBe(2);
  });

  it('counts what was spent before towards the limit of the run', async () => {
    const plain = await world.newTask();
    const task = { ...plain, config: { ...plain.config, max_total_tokens: 1500 } };
    await failedRun(task);
    models().script(toolReply([{ name: 'pay', id: 'b' }], usage));
    expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    models().script();
    const again = await failureOf(agent().runtime.run(task));
    expect(again).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { iterations: 0 } });
    // The reply that was too much was never acted on.
    expect(world.received('pay', task.task_id)).toBe(1);
    expect(await agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3, total_tokens: 2200 }]);
  });

  it('counts replies that were broken off towards the limit of the run', async () => {
    const plain = await world.newTask();
    const task = { ...plain, config: { ...plain.config, max_total_tokens: 1500 } };
    const { body } = textReply('half', usage) as { body: { choices: object[] } };
    const broken = { body: { ...body, choices: body.choices.map((one) => ({ ...one, finish_reason: 'error' })) } };
    models().script(broken, broken);
    for (const code of ['LLM_UNAVAILABLE', 'LLM_UNAVAILABLE', 'BUDGET_EXCEEDED']) {
      expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code });
    }
    expect(await agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 2200 }]);
  });

  it('asks again after a reply that said nothing, and does not show it', async () => {
    const task = await world.newTask();
    models().script(textReply('', usage), textReply('', usage));
    expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code: 'LLM_EMPTY_REPLY' });
    models().script(textReply('Here I am.', usage));
    const result = await agent().runtime.run(task);
    expect(result).toMatchObject({ status: 'completed', iterations: 1 });
    expect(lastRequest().messages.map(({ role }) => role)).toEqual(['user']);
    expect((await world.modelCallRows(task.task_id)).slice(2)).toEqual([{ attempt: 2, step: 3, closed: true }]);
  });

  it('knows nothing of a call that was cancelled with its run', async () => {
    const task = await world.newTask();
    const pay = world.holdTool('pay');
    models().script(toolReply([{ name: 'pay', id: 'a' }], usage));
    const controller = new AbortController();
    const run = failureOf(agent().runtime.run(task, { signal: controller.signal }));
    await pay.asked;
    controller.abort();
    expect(await run).toMatchObject({ code: 'RUN_CANCELLED' });
    pay.open();
    models().script(textReply('I shall look.', usage));
    await agent().runtime.run(task);
    expect(toolTexts(lastRequest())).toEqual([containing('TOOL_OUTCOME_UNKNOWN')]);
    expect(world.received('pay', task.task_id)).toBe(1);
  });

  it('makes the calls whose turn had not come when its run was cancelled, also after one more stop', async () => {
    const plain = await world.newTask();
    const task = { ...plain, config: { ...plain.config, tool_execution: 'sequential' } };
    const calls = ['a', 'b', 'c'].map((id, n) => ({ name: 'pay', arguments: { n }, id }));
    models().script(toolReply(calls, usage));
    const stopDuring = async (): Promise<void> => {
      const pay = world.holdTool('pay');
      const controller = new AbortController();
      const run = failureOf(agent().runtime.run(task, { signal: controller.signal }));
      await pay.asked;
      controller.abort();
      expect(await run).toMatchObject({ code: 'RUN_CANCELLED' });
      pay.open();
    };
    await stopDuring();
    expect(world.received('pay', task.task_id)).toBe(1);
    await stopDuring();
    expect(world.received('pay', task.task_id)).toBe(2);
    models().script(textReply('Paid.', usage));
    await agent().runtime.run(task);
    const unknown = containing('TOOL_OUTCOME_UNKNOWN');
    expect(toolTexts(lastRequest())).toEqual([unknown, unknown, containing('"n":2')]);
    expect(world.received('pay', task.task_id)).toBe(3);
  });

  it('shows calls whose ids and texts no database likes as they were', async () => {
    const task = await world.newTask();
    const ids = ['nul\0', 'nul', '\ud800', '\ud801', 'x'.repeat(3000), '__proto__'];
    const calls = ids.map((id, n) => ({
      ...{ id, type: 'function' as const },
      function: { name: 'look', arguments: JSON.stringify({ n, note: '\0\ud800' }) },
    }));
    const asked: unknown[] = [];
    // A plugged-in model may give what an adapter would not.
    const runtime = anotherRuntime(undefined, {
      generate: ({ messages }) => {
        asked.push([...messages]);
        if (asked.length === 2) return Promise.reject(new Error('down'));
        return Promise.resolve(
          asked.length === 1
            ? { message: { role: 'assistant', content: '\0', tool_calls: calls }, finishReason: 'tool-calls' }
            : { message: { role: 'assistant', content: 'Done.' }, finishReason: 'stop' },
        );
      },
    });
    await failureOf(runtime.run(task));
    await expect(runtime.run(task)).resolves.toMatchObject({ status: 'completed' });
    expect(asked).toHaveLength(3);
    expect(asked[2]).toEqual(asked[1]);
    expect(world.received('look', task.task_id)).toBe(ids.length);
  });
});

it('an attempt that lost its task says so, whatever else ends it', async () => {
  const task = await world.newTask();
  const asked = gate();
  models().script(() => asked.open(), refusal);
  const controller = new AbortController();
  const zombie = failureOf(agent().runtime.run(task, { signal: controller.signal }));
  await asked.opened;
  await world.letLeaseLapse(task.task_id);
  await failureOf(anotherRuntime().run(task));
  controller.abort();
  expect(await zombie).toMatchObject({ code: 'RUN_TAKEN_OVER' });
});

it('an attempt that lost its task writes nothing more, and sends nothing more', async () => {
  const task = await world.newTask();
  const [asked, answer] = [gate(), gate()];
  models().script(
    toolReply([{ name: 'look', id: 'a' }], usage),
    async (_request, response) => {
      asked.open();
      await answer.opened;
      sendJson(response, toolReply([{ name: 'pay', id: 'late' }], usage).body);
    },
    toolReply([{ name: 'pay', id: 'b' }], usage),
    refusal,
  );
  const zombie = failureOf(agent().runtime.run(task));
  await asked.opened;
  await world.letLeaseLapse(task.task_id);
  await failureOf(anotherRuntime().run(task));
  const before = await world.journalRows(task.task_id);
  expect(before.map(({ step, entry }) => [step, entry])).toEqual([
    [1, ''],
    [1, 'a'],
    [2, ''],
    [2, 'b'],
  ]);
  answer.open();
  expect(await zombie).toMatchObject({ code: 'RUN_TAKEN_OVER' });
  expect(await world.journalRows(task.task_id)).toEqual(before);
  expect(world.received('pay', task.task_id)).toBe(1);

  models().script(textReply('Paid.', usage));
  await expect(agent().runtime.run(task)).resolves.toMatchObject({ status: 'completed' });
  expect(toolTexts(lastRequest())).toHaveLength(2);
  expect(await agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 5, total_tokens: 4400 }]);
});

describe('with rules that ask a person', () => {
  const asking = { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } };

  it('a process that dies before the approved call was sent asks again, and the model is not asked again', async () => {
    const task = await world.newTask(asking);
    models().script(toolReply([{ name: 'look', id: 'a' }], usage), toolReply([{ name: 'pay', id: 'b' }], usage));
    const waiting = await agent().runtime.run(task);
    // What a claim of the approval leaves behind when nothing comes after it.
    await agent().database.query(
      `UPDATE elo_agent_runs SET state = 'running', run_id = $2, resumed_run_id = run_id, result = NULL, lease_until = now()
       WHERE task_id = $1`,
      [task.task_id, randomUUID()],
    );
    models().script();
    const again = await agent().runtime.run(task);
    expect(again).toMatchObject({ status: 'awaiting_input', iterations: 0, awaiting: { tool: 'pay' } });
    expect(again.run_id).not.toBe(waiting.run_id);
    models().script(textReply('Paid.', usage));
    const approval = { run_id: again.run_id, decision: 'approve' };
    const result = await agent().runtime.run({ ...task, config: { ...task.config, approval } });
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Paid.' } });
    expect([world.received('pay', task.task_id), world.received('look', task.task_id)]).toEqual([1, 1]);
    expect(await agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3 }]);
    expect(await world.journalRows(task.task_id)).toEqual([]);
  });
});

describe('a month without room', () => {
  it('leaves the calls of the step unsent on record, so that the next attempt sends them', async () => {
    const task = await world.newTask();
    const setLimit = (tokens: number) =>
      agent().database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
        task.meta.tenant_id,
        JSON.stringify({ monthly_token_limit: tokens }),
      ]);
    await setLimit(1000);
    models().script(toolReply([{ name: 'pay', id: 'a' }], usage));
    expect(await failureOf(agent().runtime.run(task))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(world.received('pay', task.task_id)).toBe(0);
    // Not even by one that wants to begin anew, and may not.
    await expect(agent().runtime.run(task, { fresh: true })).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    await setLimit(1_000_000);
    models().script(textReply('Paid.', usage));
    await expect(agent().runtime.run(task)).resolves.toMatchObject({ status: 'completed' });
    expect(toolTexts(lastRequest())).toEqual([containing('"done":"pay"')]);
    expect(world.received('pay', task.task_id)).toBe(1);
  });
});

describe('at rest', () => {
  it('is sealed where there is a vault key, and opened again', async () => {
    const task = await world.newTask();
    const runtime = anotherRuntime(aVaultKey());
    const secretive = { ...task, config: { ...task.config, message: `CANARY of ${task.task_id}` } };
    models().script(toolReply([{ name: 'pay', arguments: { n: 7, note: 'CANARY-2' }, id: 'a' }], usage), refusal);
    await failureOf(runtime.run(secretive));
    const rows = await world.journalRows(task.task_id);
    expect(rows).toHaveLength(2);
    const dump = rows.map(({ content }) => content).join('\n');
    expect(dump).not.toMatch(/CANARY|"pay\\?"|tool_calls/);
    expect(dump).toMatch(/^"v1\./);
    expect(await dumpDatabase(agent().database)).not.toContain('CANARY of');
    models().script(textReply('Paid.', usage));
    await expect(runtime.run(secretive)).resolves.toMatchObject({ status: 'completed' });
    expect(world.received('pay', task.task_id)).toBe(1);
  });

  it('cannot be opened in another row', async () => {
    const task = await world.newTask();
    const other = await world.newTask();
    const runtime = anotherRuntime(aVaultKey());
    await failedRun(task, runtime);
    await failedRun(other, runtime);
    await agent().database.query(
      `UPDATE elo_agent_journal AS one SET content = other.content FROM elo_agent_journal AS other
       WHERE one.task_id = $1 AND other.task_id = $2 AND one.entry = '' AND other.entry = ''`,
      [task.task_id, other.task_id],
    );
    await expect(runtime.run(task)).rejects.toMatchObject({ code: 'VAULT_KEY_WRONG' });
  });

  it.each([
    ['another key', aVaultKey(), 'VAULT_KEY_WRONG'],
    ['no key', undefined, 'VAULT_KEY_MISSING'],
  ])(
    'is not gone on with under %s: nothing is sent, and whoever has the key may go on at once',
    async (_what, key, code) => {
      const task = await world.newTask();
      const right = aVaultKey();
      await failedRun(task, anotherRuntime(right));
      const before = models().received.length;
      models().script(textReply('Paid.', usage));
      await expect(anotherRuntime(key).run(task)).rejects.toMatchObject({ code });
      expect(models().received).toHaveLength(before);
      expect((await world.modelCallRows(task.task_id)).map(({ attempt }) => attempt)).toEqual([1, 1]);
      const impatient = aTask(task.meta.tenant_id, { timeout_seconds: 20 }, task.task_id);
      await expect(anotherRuntime(right).run(impatient)).resolves.toMatchObject({ status: 'completed' });
      expect(world.received('pay', task.task_id)).toBe(1);
    },
  );

  it('goes with the run after 30 days', async () => {
    const task = await world.newTask();
    await failedRun(task);
    const postgres = createPostgres({ url: agent().database.url, maxConnections: 1 });
    const prune = async (days: number) => {
      await agent().database.query(
        `UPDATE elo_agent_runs SET updated_at = now() - $2 * interval '1 day' WHERE task_id = $1`,
        [task.task_id, days],
      );
      for (const statement of pruneStatements(90)) await postgres.query(statement);
    };
    await prune(29);
    expect(await world.journalRows(task.task_id)).toHaveLength(2);
    await prune(31);
    expect(await world.journalRows(task.task_id)).toEqual([]);
    await postgres.close();
  });
});

it('a claim that waited for the run before it sees the last that this one wrote', async () => {
  const task = await world.newTask();
  const { tenant_id: tenantId } = task.meta;
  const { database } = agent();
  const [asked, answer] = [gate(), gate()];
  models().script(async (_request, response) => {
    asked.open();
    await answer.opened;
    sendJson(response, toolReply([{ name: 'pay', id: 'a' }], usage).body);
  }, refusal);
  const first = failureOf(agent().runtime.run(task));
  await asked.opened;
  // The second claim has begun, with what can be seen at this moment, and waits; meanwhile the first run does all that it does.
  await database.query(`UPDATE elo_t_tenants SET settings = '{"monthly_token_limit": 1000000}' WHERE id = $1`, [
    tenantId,
  ]);
  await database.query('BEGIN');
  await database.query(`SELECT pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || $1::uuid, 0))`, [
    tenantId,
  ]);
  const second = anotherRuntime().run(task);
  await eventually(async () => {
    // Within a transaction the first look is kept.
    await database.query('SELECT pg_stat_clear_snapshot()');
    const rows = await database.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`,
    );
    return rows.length === 1 ? true : undefined;
  });
  answer.open();
  expect(await first).toMatchObject({ code: 'LLM_BAD_REQUEST' });
  models().script(textReply('Paid.', usage));
  await database.query('COMMIT');
  await expect(second).resolves.toMatchObject({ status: 'completed', result: { text: 'Paid.' } });
  expect(toolTexts(lastRequest())).toEqual([containing('"done":"pay"')]);
  expect(world.received('pay', task.task_id)).toBe(1);
});

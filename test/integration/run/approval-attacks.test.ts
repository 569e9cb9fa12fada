import { createRuntime, type Runtime, type Tool } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import {
  type AgentFixture,
  aTask,
  echoTool,
  failureOf,
  gate,
  startAgentFixture,
} from '../../support/values/agent-fixture';
import { until, untilTrue } from '../../support/values/until';

let fixture: AgentFixture;
let second: Runtime;
/** What the tool `pay` was called with. */
let paid: unknown[] = [];
const payTool: Tool = {
  ...echoTool,
  definition: {
    name: 'pay',
    description: 'Pays',
    inputSchema: { type: 'object', properties: { amount: { type: 'number' }, from: { type: 'string' } } },
  },
  execute: (input) => {
    paid.push(input);
    return Promise.resolve({ isError: false, value: { paid: paid.length } });
  },
};
const setTool: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'remember' },
  execute: (_input, { variables }) => {
    variables.set('customer', 'Ann');
    return Promise.resolve({ isError: false, value: null });
  },
};
const wipeTool: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'wipe' },
  execute: (input) => {
    paid.push({ wiped: input });
    return Promise.resolve({ isError: false, value: null });
  },
};
const tools = [echoTool, payTool, setTool, wipeTool];

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools }));
  second = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'k', baseUrl: fixture.models.url, maxRetries: 0 },
    plugins: { tools },
  });
});
beforeEach(() => {
  paid = [];
});
afterAll(() => Promise.all([second.close(), fixture.close()]));

const rules = (permission: object = {}) => ({
  tool_config: { tool_permissions: { pay: { decision: 'ask', ...permission } } },
});
const setSettings = (tenantId: string, settings: object) =>
  fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [tenantId, JSON.stringify(settings)]);
/** Waits until so many sessions wait for a lock of this database. */
const untilWaiting = (count: number) =>
  untilTrue(async () => {
    // A transaction sees one state of the sessions otherwise.
    await fixture.database.query('SELECT pg_stat_clear_snapshot()');
    const waiting = await fixture.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length >= count;
  });
const approve = (tenantId: string, runId: string, decision = 'approve') => ({
  config: { approval: { run_id: runId, decision } },
  meta: { tenant_id: tenantId },
});
type Call = Parameters<typeof toolReply>[0][number];
async function waitingRun(call: Partial<Call> = {}, settings: object = rules(), more: readonly Call[] = []) {
  const tenantId = await addTenant(fixture.database, { settings });
  const task = aTask(tenantId);
  fixture.models.script(toolReply([{ name: 'pay', arguments: { amount: 7 }, ...call }, ...more]));
  return { tenantId, task, waiting: await fixture.runtime.run(task) };
}

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'a call whose id is %s waits like any other',
  async (id) => {
    const { tenantId, waiting } = await waitingRun({ id });
    expect([waiting.status, paid]).toEqual(['awaiting_input', []]);
    fixture.models.script(textReply('Paid'));
    await expect(fixture.runtime.run(approve(tenantId, waiting.run_id))).resolves.toMatchObject({
      status: 'completed',
    });
    expect(paid).toHaveLength(1);
  },
);

it.each([
  ['without limits', {}],
  ['with a limit of the month', { monthly_token_limit: 1_000_000 }],
])('ten approvals at once over two processes pay once, %s', async (_what, limits) => {
  const { tenantId, waiting } = await waitingRun({}, { ...rules(), ...limits });
  fixture.models.script(textReply('Paid'));
  const runs = Array.from({ length: 10 }, (_, n) =>
    (n % 2 === 0 ? fixture.runtime : second).run(approve(tenantId, waiting.run_id)),
  );
  const results = await Promise.all(runs);
  expect(new Set(results.map(({ result }) => result.text))).toEqual(new Set(['Paid']));
  expect(results.filter(({ replayed }) => replayed !== true)).toHaveLength(1);
  expect(paid).toHaveLength(1);
});

it('an approval that waits behind another is told of it, not let through', async () => {
  const { tenantId, waiting } = await waitingRun({}, { ...rules(), monthly_token_limit: 1_000_000 });
  await fixture.database.query('BEGIN');
  await fixture.database.query(
    `SELECT pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || $1::uuid, 0))`,
    [tenantId],
  );
  fixture.models.script(textReply('Paid'));
  const both = [fixture.runtime, second].map((runtime) => runtime.run(approve(tenantId, waiting.run_id)));
  await untilWaiting(2);
  await fixture.database.query('COMMIT');
  const texts = (await Promise.all(both)).map(({ result }) => result.text);
  expect([texts, paid]).toEqual([['Paid', 'Paid'], [{ amount: 7 }]]);
});

it('a person is asked again when the rules make other arguments of a call than were shown', async () => {
  const { tenantId, waiting } = await waitingRun(
    { arguments: { amount: 1000 } },
    rules({ limits: { amount: { max: 7 } } }),
  );
  expect(waiting.awaiting?.arguments).toEqual({ amount: 7 });
  await setSettings(tenantId, rules({ limits: { amount: { max: 500 } } }));
  const again = await fixture.runtime.run(approve(tenantId, waiting.run_id));
  expect(again).toMatchObject({ status: 'awaiting_input', awaiting: { arguments: { amount: 500 } } });
  expect(paid).toEqual([]);
  fixture.models.script(textReply('Paid'));
  await fixture.runtime.run(approve(tenantId, again.run_id));
  expect(paid).toEqual([{ amount: 500 }]);
});

it('a call whose arguments become others in the last moment is not made', async () => {
  const { tenantId, waiting } = await waitingRun();
  // The rules are read, then wait for the lock of the month, and meanwhile they change.
  await setSettings(tenantId, { ...rules(), monthly_token_limit: 1_000_000 });
  await fixture.database.query('BEGIN');
  await fixture.database.query(
    `SELECT pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || $1::uuid, 0))`,
    [tenantId],
  );
  fixture.models.script(textReply('Not paid'));
  const run = fixture.runtime.run(approve(tenantId, waiting.run_id));
  await untilWaiting(1);
  await setSettings(tenantId, { ...rules({ limits: { amount: { max: 5 } } }), monthly_token_limit: 1_000_000 });
  await fixture.database.query('COMMIT');
  expect((await run).result.tool_calls).toMatchObject([{ error: { code: 'TOOL_PERMISSION_DENIED' } }]);
  expect(paid).toEqual([]);
});

it('two questions in one step are two decisions, and nothing runs before the second', async () => {
  const { tenantId, waiting } = await waitingRun({}, rules(), [{ name: 'pay', arguments: { amount: 8 } }]);
  const again = await fixture.runtime.run(approve(tenantId, waiting.run_id));
  expect([again.awaiting?.arguments, paid]).toEqual([{ amount: 8 }, []]);
  fixture.models.script(textReply('Half'));
  const result = await fixture.runtime.run(approve(tenantId, again.run_id, 'deny'));
  expect(paid).toEqual([{ amount: 7 }]);
  expect(result.result.tool_calls).toMatchObject([
    { result: { paid: 1 } },
    { error: { code: 'TOOL_APPROVAL_DENIED' } },
  ]);
});

it('calls that were refused as the model wrote them are refused still when the run goes on', async () => {
  const { tenantId, waiting } = await waitingRun({}, rules(), [
    { name: 'wipe', arguments: '{"only": "old' },
    { name: 'functions.wipe' },
  ]);
  fixture.models.script(textReply('Done'));
  const result = await fixture.runtime.run(approve(tenantId, waiting.run_id));
  expect(result.result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code)).toEqual([
    undefined,
    'TOOL_INVALID_ARGS',
    'TOOL_NOT_FOUND',
  ]);
  expect(paid).toEqual([{ amount: 7 }]);
});

it('variables that were set before the question are there after it', async () => {
  const tenantId = await addTenant(fixture.database, { settings: rules() });
  fixture.models.script(toolReply([{ name: 'remember' }]), toolReply([{ name: 'pay' }]));
  const waiting = await fixture.runtime.run(aTask(tenantId));
  fixture.models.script(textReply('Paid'));
  const result = await fixture.runtime.run(approve(tenantId, waiting.run_id));
  expect(result.variables).toEqual({ customer: 'Ann' });
});

it('a process that dies after the approval leaves nothing that pays again', async () => {
  const { tenantId, task, waiting } = await waitingRun();
  const { opened, open } = gate();
  fixture.models.script(async (_request, response) => {
    await opened;
    sendJson(response, textReply('Paid').body);
  });
  const asked = fixture.models.received.length;
  const dying = fixture.runtime.run(approve(tenantId, waiting.run_id));
  // It has paid, has written so, and waits for the model.
  await until(() => fixture.models.received.length > asked);
  await fixture.database.query(
    `UPDATE elo_agent_runs SET lease_until = now() - interval '1 second' WHERE tenant_id = $1`,
    [tenantId],
  );
  fixture.models.script(textReply('Paid before'));
  const taken = failureOf(dying);
  await expect(second.run(approve(tenantId, waiting.run_id))).resolves.toMatchObject({ status: 'completed' });
  open();
  expect((await taken).code).toBe('RUN_TAKEN_OVER');
  expect(paid).toHaveLength(1);
  await expect(second.run(task)).resolves.toMatchObject({ replayed: true, result: { text: 'Paid before' } });
});

describe('an approval that is given again after its process was lost', () => {
  const refusal = { status: 400, body: { error: { message: 'no' } } };
  /** As after a crash between the write before a call and the one after it. */
  const forgetOutcomes = (tenantId: string) =>
    fixture.database.query(`DELETE FROM elo_agent_journal WHERE tenant_id = $1 AND entry <> ''`, [tenantId]);
  const codesOf = ({ result }: Awaited<ReturnType<Runtime['run']>>) =>
    result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code);

  it('never makes a call again that may have been made', async () => {
    const { tenantId, waiting } = await waitingRun();
    fixture.models.script(refusal);
    await failureOf(fixture.runtime.run(approve(tenantId, waiting.run_id)));
    await forgetOutcomes(tenantId);
    fixture.models.script(textReply('I shall look'));
    expect(codesOf(await second.run(approve(tenantId, waiting.run_id)))).toEqual(['TOOL_OUTCOME_UNKNOWN']);
    expect(paid).toHaveLength(1);
  });

  it('nor one that the task itself has made meanwhile under other rules', async () => {
    const { tenantId, task, waiting } = await waitingRun();
    await fixture.database.query(
      `UPDATE elo_agent_runs SET state = 'failed', run_id = gen_random_uuid(), resumed_run_id = run_id WHERE tenant_id = $1`,
      [tenantId],
    );
    await setSettings(tenantId, {});
    fixture.models.script(refusal);
    await failureOf(fixture.runtime.run(task));
    await setSettings(tenantId, rules());
    fixture.models.script(textReply('Paid'));
    expect(codesOf(await second.run(approve(tenantId, waiting.run_id)))).toEqual([undefined]);
    expect(paid).toHaveLength(1);
  });

  it('holds for the call that was not sent yet', async () => {
    const { tenantId, waiting } = await waitingRun();
    await fixture.database.query(
      `UPDATE elo_agent_runs SET state = 'running', run_id = gen_random_uuid(), resumed_run_id = run_id, lease_until = now()
       WHERE tenant_id = $1`,
      [tenantId],
    );
    fixture.models.script(textReply('Paid'));
    const both = [fixture.runtime, second].map((runtime) => runtime.run(approve(tenantId, waiting.run_id)));
    expect((await Promise.all(both)).map(({ result }) => result.text)).toEqual(['Paid', 'Paid']);
    expect(paid).toEqual([{ amount: 7 }]);
  });

  it('does not undo a refusal', async () => {
    const { tenantId, waiting } = await waitingRun();
    fixture.models.script(refusal);
    await failureOf(fixture.runtime.run(approve(tenantId, waiting.run_id, 'deny')));
    await forgetOutcomes(tenantId);
    const refused = await failureOf(second.run(approve(tenantId, waiting.run_id)));
    expect(refused.code).toBe('APPROVAL_CONTRADICTED');
    // As a build before the one that keeps decisions left it.
    await fixture.database.query('UPDATE elo_agent_runs SET decided_run_id = NULL WHERE tenant_id = $1', [tenantId]);
    fixture.models.script(textReply('Not paid'));
    expect(codesOf(await second.run(approve(tenantId, waiting.run_id)))).toEqual(['TOOL_APPROVAL_DENIED']);
    expect(paid).toEqual([]);
  });
});

it('the last step may wait too, and ends the run as it would have without the question', async () => {
  const tenantId = await addTenant(fixture.database, { settings: rules() });
  fixture.models.script(toolReply([{ name: 'pay', arguments: { amount: 7 } }]));
  const waiting = await fixture.runtime.run(aTask(tenantId, { max_iterations: 1, tool_execution: 'single' }));
  expect(waiting.status).toBe('awaiting_input');
  const failure = await failureOf(fixture.runtime.run(approve(tenantId, waiting.run_id)));
  expect(failure).toMatchObject({
    code: 'MAX_ITERATIONS_REACHED',
    result: { result: { tool_calls: [{ tool: 'pay' }] } },
  });
  expect(paid).toHaveLength(1);
});

it('fixed arguments are nowhere in what is shown, kept or audited', async () => {
  const { tenantId, waiting } = await waitingRun({}, rules({ fixed_arguments: { from: 'hidden-account' } }));
  fixture.models.script(textReply('Paid'));
  const kept = await fixture.database.query(
    'SELECT result::text, resume::text FROM elo_agent_runs WHERE tenant_id = $1',
    [tenantId],
  );
  const result = await fixture.runtime.run(approve(tenantId, waiting.run_id));
  const audit = await fixture.database.query('SELECT * FROM elo_tool_executions WHERE tenant_id = $1', [tenantId]);
  expect(paid).toEqual([{ amount: 7, from: 'hidden-account' }]);
  expect(JSON.stringify([waiting, kept, result, audit, fixture.models.received.slice(-2)])).not.toContain(
    'hidden-account',
  );
});

describe('who decided', () => {
  const auditOf = (tenantId: string) =>
    fixture.database.query(
      `SELECT decision, decided_by FROM elo_tool_executions WHERE tenant_id = $1 AND tool = 'pay' ORDER BY id`,
      [tenantId],
    );
  type Waiting = Pick<Awaited<ReturnType<typeof waitingRun>>, 'tenantId' | 'waiting'>;
  const decide = ({ tenantId, waiting }: Waiting, decision: 'approve' | 'deny', userId: string) =>
    fixture.runtime.admin.approval.decide({ tenantId, runId: waiting.run_id, decision, userId });

  it('has not denied what the rules of now refuse', async () => {
    const { tenantId, waiting } = await waitingRun();
    await setSettings(tenantId, rules({ max_calls_per_run: 0 }));
    fixture.models.script(textReply('Not paid'));
    await decide({ tenantId, waiting }, 'approve', 'boss');
    expect(await auditOf(tenantId)).toEqual([
      { decision: 'ask', decided_by: null },
      { decision: 'deny', decided_by: null },
    ]);
  });

  it('is who was first, also where another one sends the same decision after a crash', async () => {
    const { tenantId, waiting } = await waitingRun();
    await fixture.database.query(
      `UPDATE elo_agent_runs SET state = 'failed', run_id = gen_random_uuid(), resumed_run_id = run_id,
         decided_run_id = run_id, decision = 'approve', decided_by = 'boss', decided_at = now() WHERE tenant_id = $1`,
      [tenantId],
    );
    fixture.models.script(textReply('Paid'));
    await decide({ tenantId, waiting }, 'approve', 'third');
    expect((await auditOf(tenantId)).at(-1)).toEqual({ decision: 'allow', decided_by: 'boss' });
  });

  it('of one question is not who decided another, which a build before this one went on with', async () => {
    const { tenantId, waiting } = await waitingRun();
    // The decision on the question before is still there.
    await fixture.database.query(
      `UPDATE elo_agent_runs SET state = 'failed', run_id = gen_random_uuid(), resumed_run_id = run_id,
         decided_run_id = gen_random_uuid(), decision = 'approve', decided_by = 'boss', decided_at = now() WHERE tenant_id = $1`,
      [tenantId],
    );
    fixture.models.script(textReply('Not paid'));
    const { result } = await decide({ tenantId, waiting }, 'deny', 'other');
    expect(result.tool_calls).toMatchObject([{ error: { code: 'TOOL_APPROVAL_DENIED' } }]);
    expect(paid).toEqual([]);
    expect((await auditOf(tenantId)).at(-1)).toEqual({ decision: 'deny', decided_by: 'other' });
  });

  it('is forgotten by a run that begins anew', async () => {
    const { tenantId, task, waiting } = await waitingRun();
    fixture.models.script(textReply('Paid'));
    await decide({ tenantId, waiting }, 'approve', 'boss');
    await setSettings(tenantId, {});
    fixture.models.script(textReply('Anew'));
    await fixture.runtime.run(task, { fresh: true });
    expect((await fixture.runtime.admin.run.list({ tenantId })).runs).toMatchObject([
      { decision: null, decided_by: null, decided_at: null },
    ]);
  });
});

import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';

const COLUMNS = 'client_id, dialog_id, user_id, session_id';
const IDENTITY = { client_id: 'c1', dialog_id: 'd1', user_id: 'u1', session_id: 's1' };

let fixture: AgentFixture;
let hook: TestServer;
let tenantId: string;

beforeAll(async () => {
  fixture = await startAgentFixture();
  hook = await startServer((_request, response) => sendJson(response, { ok: true }));
  tenantId = await addTenant(fixture.database);
  await giveTool(fixture.database, tenantId, { code: 'find_orders', endpoint: `${hook.url}/` });
});
afterAll(async () => {
  await fixture.close();
  await hook.close();
});

const lastMeta = (): unknown => (JSON.parse(hook.requests.at(-1)?.body ?? '{}') as { meta?: unknown }).meta;
const audited = (taskId: string): Promise<readonly object[]> =>
  fixture.database.query(`SELECT tool, ${COLUMNS} FROM elo_tool_executions WHERE task_id = $1`, [taskId]);

it('reaches the tool beside its arguments, the audit, the run and the bill', async () => {
  fixture.models.script(toolReply([{ name: 'find_orders', arguments: { user_id: 'nobody' } }]), textReply('Done'));
  const task = aTask(tenantId);
  await fixture.runtime.run({ ...task, meta: { ...task.meta, ...IDENTITY } });
  expect(lastMeta()).toEqual({ ...IDENTITY, task_id: task.task_id, trace_id: 'trace-1' });
  expect(await audited(task.task_id)).toEqual([{ tool: 'find_orders', ...IDENTITY }]);
  const { stdout } = await runCli(['audit', 'list', '--tenant', tenantId], {
    env: { DATABASE_URL: fixture.database.url },
  });
  expect(JSON.parse(stdout)).toMatchObject({ calls: [{ task_id: task.task_id, ...IDENTITY }] });
  const runs = await fixture.database.query(`SELECT ${COLUMNS} FROM elo_agent_runs WHERE task_id = $1`, [task.task_id]);
  expect(runs).toEqual([IDENTITY]);
  expect(await fixture.usageRows(task.task_id)).toMatchObject([
    { run_client_id: 'c1', run_dialog_id: 'd1', run_user_id: 'u1', run_session_id: 's1' },
  ]);
});

it('is part of the request: the same task for another session is a conflict, and no replay', async () => {
  fixture.models.script(textReply('Done'));
  const task = aTask(tenantId);
  await fixture.runtime.run({ ...task, meta: { ...task.meta, session_id: 'one' } });
  const other = fixture.runtime.run({ ...task, meta: { ...task.meta, session_id: 'two' } });
  expect(await failureOf(other)).toMatchObject({ code: 'TASK_CONFLICT' });
});

describe('a call outside a run', () => {
  it('carries it to the tool and the audit', async () => {
    await fixture.runtime.tools.call({ tenantId, tool: 'find_orders', arguments: {}, meta: IDENTITY });
    const meta = lastMeta() as { task_id: string };
    expect(meta).toEqual({ ...IDENTITY, task_id: containing('tools-call-') });
    expect(await audited(meta.task_id)).toEqual([{ tool: 'find_orders', ...IDENTITY }]);
  });

  it.each([{ tenant_id: 'another' }, { userid: 'u1' }])('refuses what it does not know: %j', async (meta) => {
    const call = fixture.runtime.tools.call({ tenantId, tool: 'find_orders', arguments: {}, meta });
    expect(await failureOf(call)).toMatchObject({
      code: 'INPUT_INVALID',
      message: containing(Object.keys(meta)[0] as string),
    });
  });

  it('takes it from --meta', async () => {
    const words = ['tool', 'execute', 'find_orders', '--tenant', tenantId, '--meta'];
    const env = { DATABASE_URL: fixture.database.url };
    expect(await runCli([...words, JSON.stringify(IDENTITY)], { env })).toMatchObject({ exitCode: 0 });
    expect(lastMeta()).toMatchObject(IDENTITY);
    const wrong = await runCli([...words, '{'], { env });
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: containing('--meta'),
    });
  });
});

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { AgentResult } from '../../../runtime';
import { addTenant, giveTool, type TestTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';

let fixture: AgentFixture;
let servers: TestServer;

beforeAll(async () => {
  fixture = await startAgentFixture();
  servers = await startServer((_request, response) => sendJson(response, { sent: servers.requests.length }));
});
afterAll(async () => {
  await fixture.close();
  await servers.close();
});

/** A tenant with the tools `send` and `find`, which have their own rows in a catalogue of many tests. */
async function tenantWith(
  settings: object,
  tool: Partial<TestTool> & { readonly customConfig?: object } = {},
): Promise<{ tenantId: string; send: string; find: string }> {
  const tenantId = await addTenant(fixture.database, { settings });
  const id = tenantId.slice(0, 8);
  const endpoint = `${servers.url}/hook`;
  await giveTool(fixture.database, tenantId, { code: `send_${id}`, endpoint, ...tool });
  await giveTool(fixture.database, tenantId, { code: `find_${id}`, endpoint });
  return { tenantId, send: `send_${id}`, find: `find_${id}` };
}

/** Rules can only name tools that exist, so they are written when the tenant does. */
const setRules = (tenantId: string, toolConfig: object) =>
  fixture.database.query('UPDATE elo_t_tenants SET settings = settings || $2 WHERE id = $1', [
    tenantId,
    JSON.stringify({ tool_config: toolConfig }),
  ]);

/** The model's reply, after something happened in between. */
const after =
  (change: () => Promise<unknown>, reply: { readonly body: unknown }): ScriptedReply =>
  async (_request, response) => {
    await change();
    sendJson(response, reply.body);
  };

const codes = (result: AgentResult) =>
  result.result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code);
const offered = () => fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name) ?? [];

describe('which tools are offered', () => {
  it('as to the agent that is named where somebody lists tools or calls one', async () => {
    const { tenantId, send } = await tenantWith({ tool_config: { agents: { sales: { enabled_tools: [] } } } });
    const { tool } = fixture.runtime.admin;
    expect(await tool.list({ tenantId, agent: 'sales' })).toMatchObject({ tools: [] });
    const call = { tenantId, tool: send, arguments: {} };
    await expect(tool.execute({ ...call, agent: 'sales' })).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
    await expect(tool.execute({ ...call, agent: 'support' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await expect(tool.execute(call)).resolves.toHaveProperty('result');
  });

  it('those that every level leaves; a deny-list wins over an allow-list', async () => {
    const { tenantId, send, find } = await tenantWith({});
    await setRules(tenantId, { enabled_tools: ['*'], disabled_tools: ['echo'] });
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(aTask(tenantId, { tools: [send, find, 'echo'], disabled_tools: [find] }));
    expect(offered()).toEqual([send]);
  });

  it('not one that the rules deny, and a call of it is answered as unknown', async () => {
    const { tenantId, send, find } = await tenantWith({});
    await setRules(tenantId, { tool_permissions: { 'send_*': { decision: 'deny' } } });
    fixture.models.script(toolReply([{ name: send }]), textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId));
    expect(codes(result)).toEqual(['TOOL_NOT_FOUND']);
    expect(offered()).toEqual([find, 'echo']);
  });

  it('not one whose own row has rules that cannot be read, with a warning', async () => {
    const permissions = { allowed_patterns: { to: ['/(a+)+(?=b)/'] } };
    const { tenantId, find } = await tenantWith({}, { customConfig: { permissions } });
    fixture.models.script(textReply('Done'));
    const { warnings } = await fixture.runtime.run(aTask(tenantId));
    expect(offered()).toEqual([find, 'echo']);
    expect(warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing('allowed_patterns.to') }]);
  });
});

describe('revoked between two steps of one run', () => {
  it.each([
    [
      'the link of the tenant',
      'UPDATE elo_t_tenant_tools SET is_enabled = false WHERE tenant_id = $1',
      'TOOL_PERMISSION_DENIED',
    ],
    [
      'the deny-list of the tenant',
      `UPDATE elo_t_tenants SET settings = '{"tool_config": {"disabled_tools": ["send_*"]}}' WHERE id = $1`,
      'TOOL_PERMISSION_DENIED',
    ],
    [
      'a rule for its arguments',
      `UPDATE elo_t_tenants SET settings = '{"tool_config": {"tool_permissions": {"send_*": {"allowed_patterns": {"to": ["+55*"]}}}}}' WHERE id = $1`,
      'TOOL_PERMISSION_DENIED',
    ],
    ['the link itself', 'DELETE FROM elo_t_tenant_tools WHERE tenant_id = $1', 'TOOL_PERMISSION_DENIED'],
  ])('by %s, it is refused with its code, and the run goes on', async (_how, sql, code) => {
    const { tenantId, send } = await tenantWith({});
    const call = (to: string) => toolReply([{ name: send, arguments: { to } }]);
    const before = servers.requests.length;
    fixture.models.script(
      call('+7'),
      after(() => fixture.database.query(sql, [tenantId]), call('+7 again')),
      textReply('Done'),
    );
    const result = await fixture.runtime.run(aTask(tenantId));
    expect(result.status).toBe('completed');
    expect(codes(result)).toEqual([undefined, code]);
    expect(servers.requests).toHaveLength(before + 1);
  });

  it('the whole tenant: the run ends, with what was spent', async () => {
    const { tenantId, send } = await tenantWith({});
    const before = servers.requests.length;
    fixture.models.script(
      after(
        () => fixture.database.query('UPDATE elo_t_tenants SET is_active = false WHERE id = $1', [tenantId]),
        toolReply([{ name: send }]),
      ),
    );
    const failure = await failureOf(fixture.runtime.run(aTask(tenantId)));
    expect(failure).toMatchObject({ code: 'TENANT_INACTIVE', result: { status: 'failed', iterations: 1 } });
    expect(servers.requests).toHaveLength(before);
  });
});

describe('limits of calls', () => {
  it('of a day, on the counter that installations have: five at once, exactly two pass', async () => {
    const { tenantId, send } = await tenantWith({});
    await fixture.database.query('UPDATE elo_t_tenant_tools SET usage_limit_daily = 2 WHERE tenant_id = $1', [
      tenantId,
    ]);
    const calls = Array.from({ length: 5 }, (_, n) => ({ name: send, arguments: { n } }));
    fixture.models.script(toolReply(calls), textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId));
    expect(codes(result).filter((code) => code === undefined)).toHaveLength(2);
    expect(codes(result).filter((code) => code === 'TOOL_LIMIT_REACHED')).toHaveLength(3);
    expect(JSON.stringify(result.result.tool_calls)).toContain('daily_limit_exceeded');
    const [row] = await fixture.database.query(
      'SELECT max(usage_count_today) AS used FROM elo_t_tenant_tools WHERE tenant_id = $1',
      [tenantId],
    );
    expect(row).toEqual({ used: 2 });
  });

  it('of a day, five runs at once: exactly two pass; the next day there are two again', async () => {
    const { tenantId, send } = await tenantWith({});
    await fixture.database.query('UPDATE elo_t_tenant_tools SET usage_limit_daily = 2 WHERE tenant_id = $1', [
      tenantId,
    ]);
    const call = (n: number) => fixture.runtime.tools.call({ tenantId, tool: send, arguments: { n } });
    const outputs = await Promise.all([1, 2, 3, 4, 5].map(call));
    expect(outputs.filter(({ isError }) => !isError)).toHaveLength(2);
    await fixture.database.query(
      'UPDATE elo_t_tenant_tools SET last_reset_date = CURRENT_DATE - 1 WHERE tenant_id = $1',
      [tenantId],
    );
    const nextDay = await Promise.all([1, 2, 3].map(call));
    expect(nextDay.filter(({ isError }) => !isError)).toHaveLength(2);
  });

  it("ask the installation's own function too, and count once whether or not it counts for itself", async () => {
    const { tenantId, send } = await tenantWith({});
    await fixture.database.query('UPDATE elo_t_tenant_tools SET usage_limit_daily = 3 WHERE tenant_id = $1', [
      tenantId,
    ]);
    const define = (body: string) =>
      fixture.database.query(`CREATE OR REPLACE FUNCTION elo_check_tool_access(p_tenant_id UUID, p_tool_code VARCHAR)
        RETURNS TABLE (allowed BOOLEAN, reason VARCHAR, out_tool_id INT) LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`);
    const call = (n: number) => fixture.runtime.tools.call({ tenantId, tool: send, arguments: { n } });
    try {
      await define(`
        UPDATE elo_t_tenant_tools SET usage_count_today = usage_count_today + 1 WHERE tenant_id = p_tenant_id;
        RETURN QUERY SELECT true, 'ok'::varchar, 1;`);
      const outputs = await Promise.all([1, 2, 3, 4, 5].map(call));
      expect(outputs.filter(({ isError }) => !isError)).toHaveLength(3);
      await define(`RETURN QUERY SELECT false, 'outside_working_hours'::varchar, 1;`);
      await fixture.database.query('UPDATE elo_t_tenant_tools SET usage_limit_daily = NULL WHERE tenant_id = $1', [
        tenantId,
      ]);
      await expect(call(6)).resolves.toMatchObject({
        code: 'TOOL_PERMISSION_DENIED',
        value: { message: containing('outside_working_hours') },
      });
    } finally {
      await fixture.database.query('DROP FUNCTION elo_check_tool_access(UUID, VARCHAR)');
    }
  });

  it('of a minute hold over two processes: of twenty calls exactly five pass', async () => {
    const { tenantId, send } = await tenantWith({});
    await setRules(tenantId, { tool_permissions: { [send]: { rate_limit_per_minute: 5 } } });
    const script = `
      const { createRuntime } = require(${JSON.stringify(join(__dirname, '../../..'))});
      const runtime = createRuntime({ database: { url: process.env.DATABASE }, model: {} });
      const call = (n) => runtime.tools.call({ tenantId: '${tenantId}', tool: '${send}', arguments: { n } });
      Promise.all(Array.from({ length: 10 }, (_, n) => call(n)))
        .then((outputs) => process.stdout.write(JSON.stringify(outputs.map(({ code }) => code ?? 'ok'))))
        .finally(() => runtime.close());`;
    const run = async (): Promise<string[]> => {
      const env = { ...process.env, DATABASE: fixture.database.url };
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env });
      return JSON.parse(stdout) as string[];
    };
    const before = servers.requests.length;
    const outputs = (await Promise.all([run(), run()])).flat();
    expect(outputs.filter((code) => code === 'ok')).toHaveLength(5);
    expect(outputs.filter((code) => code === 'TOOL_LIMIT_REACHED')).toHaveLength(15);
    expect(servers.requests).toHaveLength(before + 5);

    await fixture.database.query(
      `UPDATE elo_agent_rate_windows SET started_at = started_at - interval '61 seconds' WHERE tenant_id = $1`,
      [tenantId],
    );
    await expect(fixture.runtime.tools.call({ tenantId, tool: send, arguments: {} })).resolves.toMatchObject({
      isError: false,
    });
  });

  it('that refuse a call take nothing of the other limits', async () => {
    const { tenantId, send } = await tenantWith({});
    await setRules(tenantId, { tool_permissions: { [send]: { rate_limit_per_minute: 1, rate_limit_per_day: 10 } } });
    const call = () => fixture.runtime.tools.call({ tenantId, tool: send, arguments: {} });
    await call();
    await Promise.all([call(), call(), call()]);
    const rows = await fixture.database.query(
      'SELECT seconds, used FROM elo_agent_rate_windows WHERE tenant_id = $1 ORDER BY seconds',
      [tenantId],
    );
    expect(rows).toEqual([
      { seconds: 60, used: 1 },
      { seconds: 86400, used: 1 },
    ]);
  });

  it('of one tenant are not touched by another', async () => {
    const one = await tenantWith({});
    const other = await tenantWith({});
    for (const { tenantId, send } of [one, other]) {
      await setRules(tenantId, { tool_permissions: { [send]: { rate_limit_per_minute: 1 } } });
    }
    const call = ({ tenantId, send }: typeof one) =>
      fixture.runtime.tools.call({ tenantId, tool: send, arguments: {} });
    expect([(await call(one)).isError, (await call(one)).isError, (await call(other)).isError]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('of a run end with it', async () => {
    const { tenantId, send } = await tenantWith({});
    await setRules(tenantId, { tool_permissions: { [send]: { max_calls_per_run: 2 } } });
    const calls = [1, 2, 3].map((n) => ({ name: send, arguments: { n } }));
    for (let run = 0; run < 2; run++) {
      fixture.models.script(toolReply(calls), textReply('Done'));
      expect(codes(await fixture.runtime.run(aTask(tenantId)))).toEqual([undefined, undefined, 'TOOL_RUN_LIMIT']);
    }
    fixture.models.script(toolReply([{ name: 'echo' }, ...calls]), textReply('Done'));
    expect(codes(await fixture.runtime.run(aTask(tenantId, { max_tool_calls: 2 })))).toEqual([
      undefined,
      undefined,
      'TOOL_RUN_LIMIT',
      'TOOL_RUN_LIMIT',
    ]);
  });
});

describe('the audit', () => {
  it('has one line a call, whether it ran, failed or was refused', async () => {
    const { tenantId, send, find } = await tenantWith({});
    await setRules(tenantId, { tool_permissions: { [find]: { allowed_patterns: { q: ['a*'] } } } });
    fixture.models.script(
      toolReply([
        { name: send, arguments: { text: 'Hi', token: 'sk-abcdefghijklmnopqrstuvwxyz' } },
        { name: find, arguments: { q: 'b' } },
        { name: 'ghost' },
      ]),
      textReply('Done'),
    );
    const task = aTask(tenantId);
    const result = await fixture.runtime.run({ ...task, meta: { ...task.meta, user_id: 'ann' } });
    const rows = await fixture.database.query(
      `SELECT tool, decision, code, is_error, step, user_id, arguments, run_id::text, task_id
       FROM elo_tool_executions WHERE tenant_id = $1 ORDER BY decision, code DESC`,
      [tenantId],
    );
    const line = { step: 1, user_id: 'ann', run_id: result.run_id, task_id: task.task_id };
    expect(rows).toEqual([
      {
        ...line,
        tool: send,
        decision: 'allow',
        code: null,
        is_error: false,
        arguments: { text: 'Hi', token: '[redacted]' },
      },
      { ...line, tool: find, decision: 'deny', code: 'TOOL_PERMISSION_DENIED', is_error: true, arguments: { q: 'b' } },
      { ...line, tool: 'ghost', decision: 'deny', code: 'TOOL_NOT_FOUND', is_error: true, arguments: {} },
    ]);
  });

  it('is shown by the command line, newest first, of one tenant and one task', async () => {
    const { tenantId, send } = await tenantWith({});
    const tasks = [aTask(tenantId), aTask(tenantId)];
    for (const task of tasks) {
      fixture.models.script(toolReply([{ name: send }]), textReply('Done'));
      await fixture.runtime.run(task);
    }
    const list = async (...args: string[]) => {
      const { stdout } = await runCli(['audit', 'list', '--tenant', tenantId, ...args], {
        env: { DATABASE_URL: fixture.database.url },
      });
      return (JSON.parse(stdout) as { calls: { task_id: string; tool: string; decision: string }[] }).calls;
    };
    const [first, second] = tasks.map(({ task_id }) => ({ task_id, tool: send, decision: 'allow' }));
    expect(await list()).toMatchObject([second, first]);
    expect(await list('--task-id', String(first?.task_id))).toMatchObject([first]);
  });

  it('goes with its tenant, as all of the tenant does', async () => {
    const { tenantId, send } = await tenantWith({});
    fixture.models.script(toolReply([{ name: send }]), textReply('Done'));
    await fixture.runtime.run(aTask(tenantId));
    await fixture.database.query('DELETE FROM elo_t_tenants WHERE id = $1', [tenantId]);
    const tables = await fixture.database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE column_name = 'tenant_id' AND table_schema = 'public' AND table_name NOT LIKE '%_v_%'`,
    );
    expect(tables.length).toBeGreaterThan(8);
    for (const { name } of tables) {
      const left = await fixture.database.query(`SELECT * FROM ${name} WHERE tenant_id = $1`, [tenantId]);
      expect([name, left]).toEqual([name, []]);
    }
  });
});

import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let hook: TestServer;

beforeAll(async () => {
  fixture = await startAgentFixture();
  hook = await startServer((_request, response) => sendJson(response, { ok: true }));
});
afterAll(async () => {
  await fixture.close();
  await hook.close();
});
beforeEach(() => {
  hook.requests.length = 0;
  fixture.models.received.length = 0;
  fixture.models.always((request) =>
    request.messages.at(-1)?.role === 'user' && (request.tools ?? []).length > 0
      ? toolReply([{ name: request.tools?.[0]?.function.name as string }]).body
      : textReply('Done').body,
  );
});

describe('runs a minute', () => {
  const limitedTenant = (runs: unknown): Promise<string> =>
    addTenant(fixture.database, { settings: { runs_per_minute: runs, tool_config: { enabled_tools: [] } } });
  const endMinute = (tenantId: string): Promise<unknown> =>
    fixture.database.query(
      `UPDATE elo_agent_rate_windows SET started_at = started_at - interval '1 minute' WHERE tenant_id = $1`,
      [tenantId],
    );

  it('are counted over all processes, and those above the limit are told when to come again', async () => {
    const tenantId = await limitedTenant(2);
    const runs = [1, 2, 3, 4].map(() => fixture.runtime.run(aTask(tenantId)));
    const ended = await Promise.allSettled(runs);
    const refused = ended.flatMap((run) => (run.status === 'rejected' ? [run.reason as object] : []));
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(refused).toHaveLength(2);
    for (const error of refused) {
      expect(error).toMatchObject({ code: 'TENANT_RATE_LIMITED', retryable: true, details: { runs: 2 } });
      const { seconds } = (error as { details: { seconds: number } }).details;
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(60);
    }
    expect(fixture.models.received).toHaveLength(2);
    await endMinute(tenantId);
    expect((await fixture.runtime.run(aTask(tenantId))).status).toBe('completed');
  });

  it('leave no trace of a refused task, which is done later', async () => {
    const tenantId = await limitedTenant(1);
    await fixture.runtime.run(aTask(tenantId));
    const task = aTask(tenantId);
    await failureOf(fixture.runtime.run(task));
    await expect(fixture.runRow(task.task_id)).rejects.toThrow('never claimed');
    await endMinute(tenantId);
    expect(await fixture.runtime.run(task)).toMatchObject({ status: 'completed' });
    expect(await fixture.runRow(task.task_id)).toMatchObject({ attempt: 1 });
  });

  it('do not count replays', async () => {
    const tenantId = await limitedTenant(1);
    const task = aTask(tenantId);
    await fixture.runtime.run(task);
    expect(await fixture.runtime.run(task)).toMatchObject({ replayed: true });
    expect(
      await failureOf(fixture.runtime.run({ ...task, config: { ...task.config, message: 'other' } })),
    ).toMatchObject({ code: 'TASK_CONFLICT' });
  });

  it("are one tenant's own", async () => {
    const [one, other] = [await limitedTenant(1), await limitedTenant(1)];
    await fixture.runtime.run(aTask(one));
    expect((await fixture.runtime.run(aTask(other))).status).toBe('completed');
  });

  it.each([0, 'many', 1.5, -1, true])('refuse every run where the setting cannot be read: %j', async (runs) => {
    const tenantId = await limitedTenant(runs);
    expect(await failureOf(fixture.runtime.run(aTask(tenantId)))).toMatchObject({ code: 'SETTING_INVALID' });
  });
});

describe('limits of an agent', () => {
  const permissions = (code: string, perMinute: number): object => ({
    tool_permissions: { [code]: { rate_limit_per_minute: perMinute } },
  });

  async function tenantWith(toolConfig: (code: string) => object): Promise<string> {
    const tenantId = await addTenant(fixture.database);
    const code = `find_${tenantId.slice(0, 8)}`;
    await giveTool(fixture.database, tenantId, { code, endpoint: `${hook.url}/` });
    const settings = { tool_config: { enabled_tools: [code], ...toolConfig(code) } };
    await fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
      tenantId,
      JSON.stringify(settings),
    ]);
    return tenantId;
  }

  async function call(tenantId: string, agent?: string): Promise<string> {
    const { result } = await fixture.runtime.run(aTask(tenantId, { agent }));
    const error = result.tool_calls[0]?.error as { code: string } | undefined;
    return error?.code ?? 'made';
  }

  it('count the calls of that agent alone', async () => {
    const tenantId = await tenantWith((code) => ({
      agents: { sales: permissions(code, 1), support: permissions(code, 1) },
    }));
    expect(await call(tenantId, 'sales')).toBe('made');
    expect(await call(tenantId, 'sales')).toBe('TOOL_LIMIT_REACHED');
    expect(await call(tenantId, 'support')).toBe('made');
    expect(await call(tenantId)).toBe('made');
    expect(await call(tenantId)).toBe('made');
  });

  it('hold beside those of the tenant, which count the calls of all agents', async () => {
    const tenantId = await tenantWith((code) => ({
      ...permissions(code, 2),
      agents: { sales: permissions(code, 1), support: {} },
    }));
    expect(await call(tenantId, 'sales')).toBe('made');
    // Refused by the agent's limit, so nothing is taken off the tenant's.
    expect(await call(tenantId, 'sales')).toBe('TOOL_LIMIT_REACHED');
    expect(await call(tenantId, 'support')).toBe('made');
    expect(await call(tenantId, 'support')).toBe('TOOL_LIMIT_REACHED');
  });
});

describe('the MCP servers that a workflow may bring with it', () => {
  const run = async (allowed: unknown, url: string): Promise<unknown> => {
    const tenantId = await addTenant(fixture.database, { settings: { mcp_allowed_hosts: allowed } });
    const mcpServers = [{ name: 'shop', url }];
    return fixture.runtime.run(aTask(tenantId), { mcpServers }).catch((error: unknown) => error);
  };

  it.each([
    ['a host that is not listed', ['mcp.example.com']],
    ['any, where the list is empty', []],
  ])('are refused for %s, before anything is asked', async (_what, allowed) => {
    expect(await run(allowed, `${hook.url}/mcp`)).toMatchObject({ code: 'MCP_HOST_FORBIDDEN' });
    expect([hook.requests, fixture.models.received]).toEqual([[], []]);
  });

  it('are asked on a listed host, and on any where the tenant has no list', async () => {
    for (const allowed of [['127.0.0.1'], undefined]) {
      expect(await run(allowed, `${hook.url}/mcp`)).toMatchObject({ status: 'completed' });
    }
    expect(hook.requests.length).toBeGreaterThan(0);
  });

  it.each(['127.0.0.1', ['http://127.0.0.1/'], [1]])(
    'are refused by a list that cannot be read: %j',
    async (allowed) => {
      expect(await run(allowed, `${hook.url}/mcp`)).toMatchObject({ code: 'SETTING_INVALID' });
    },
  );
});

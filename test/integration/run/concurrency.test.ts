import { createRuntime, type Runtime } from '../../../runtime';
import { addTenant, addTool, enableTool, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import type { ModelServerRequest } from '../../support/servers/model-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

const RUNS = 50;
let fixture: AgentFixture;
let tools: TestServer;
let runtime: Runtime;

beforeAll(async () => {
  fixture = await startAgentFixture();
  tools = await startServer((request, response) => {
    const { tenant_id } = JSON.parse(request.body) as { tenant_id: string };
    sendJson(response, { for: tenant_id, with: request.headers.authorization });
  });
  runtime = createRuntime({
    database: { url: fixture.database.url, maxConnections: 5 },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url },
  });
});
afterAll(async () => {
  await runtime.close();
  await fixture.close();
  await tools.close();
});

/** Calls the first tool that it is offered, then answers. */
function eagerModel(request: ModelServerRequest): unknown {
  const isFirst = request.messages.every((message) => message.role !== 'tool');
  const [tool] = request.tools ?? [];
  const reply = isFirst && tool !== undefined ? toolReply([{ name: tool.function.name }]) : textReply('Done');
  return reply.body;
}

it('two tenants, fifty runs each at once: no tool, credential or result reaches the other', async () => {
  const tenants = await Promise.all([addTenant(fixture.database), addTenant(fixture.database)]);
  const shared = await addTool(fixture.database, { code: 'shared_tool', endpoint: tools.url, sortOrder: 0 });
  for (const [index, tenantId] of tenants.entries()) {
    const customConfig = { auth_header: `Bearer of-${index}`, description: `For tenant ${index}` };
    await enableTool(fixture.database, { tenantId, toolId: shared, customConfig });
    await giveTool(fixture.database, tenantId, { code: `only_${index}`, endpoint: tools.url, sortOrder: 1 });
  }
  fixture.models.always(eagerModel);
  const before = tools.requests.length;
  const runs = Array.from({ length: RUNS * 2 }, (_, number) => number % 2);
  await Promise.all(
    runs.map(async (index) => {
      const tenantId = tenants[index] ?? '';
      const result = await runtime.run(aTask(tenantId, { message: `For tenant ${index}`, include_trace: true }));
      expect(result.result.tool_calls).toMatchObject([{ tool: 'shared_tool', result: { for: tenantId } }]);
    }),
  );
  for (const request of fixture.models.received.slice(-RUNS * 4)) {
    const index = request.messages.find((message) => message.role === 'user')?.content?.at(-1) ?? '';
    expect(request.tools?.map((tool) => tool.function.name)).toEqual(['shared_tool', `only_${index}`]);
    expect(request.tools?.[0]?.function.description).toBe(`For tenant ${index}`);
  }
  for (const request of tools.requests.slice(before)) {
    const { tenant_id } = JSON.parse(request.body) as { tenant_id: string };
    expect(request.headers.authorization).toBe(`Bearer of-${tenants.indexOf(tenant_id)}`);
  }
  expect(tools.requests.slice(before)).toHaveLength(RUNS * 2);
});

it('never holds more database connections than it may, however many runs there are', async () => {
  const tenantId = await addTenant(fixture.database);
  fixture.models.always(eagerModel);
  const counts: number[] = [];
  const watch = async (): Promise<void> => {
    const [row] = await fixture.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    counts.push(row?.count ?? 0);
  };
  const runs = Promise.all(Array.from({ length: RUNS }, () => runtime.run(aTask(tenantId))));
  for (let look = 0; look < 10; look++) await watch();
  await runs;
  expect(Math.max(...counts)).toBeGreaterThan(1);
  expect(Math.max(...counts)).toBeLessThanOrEqual(5 + 1);
});

it('a tool that is switched off between two runs is gone in the second, also for a warm runtime', async () => {
  const tenantId = await addTenant(fixture.database);
  await giveTool(fixture.database, tenantId, { code: 'short_lived', endpoint: tools.url });
  fixture.models.always(eagerModel);
  expect((await runtime.run(aTask(tenantId))).result.tool_calls).toHaveLength(1);
  await fixture.database.query('UPDATE elo_t_tenant_tools SET is_enabled = false WHERE tenant_id = $1', [tenantId]);
  expect((await runtime.run(aTask(tenantId))).result.tool_calls).toEqual([]);
});

it('a tenant that is switched off between two runs is refused in the second', async () => {
  const tenantId = await addTenant(fixture.database);
  fixture.models.always(eagerModel);
  await runtime.run(aTask(tenantId));
  await fixture.database.query('UPDATE elo_t_tenants SET is_active = false WHERE id = $1', [tenantId]);
  expect(await failureOf(runtime.run(aTask(tenantId)))).toMatchObject({ code: 'TENANT_INACTIVE' });
});

import type { RunOptions } from '../../../runtime';
import { createRuntime } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());

const rules = { tool_config: { tool_permissions: { 'calculator*': { decision: 'ask' }, echo: { decision: 'ask' } } } };
const said: unknown[] = [];
const connected: RunOptions['connected'] = {
  memory: {
    load: () => Promise.resolve([]),
    save: (turn) => {
      said.push(turn);
      return Promise.resolve();
    },
  },
  tools: [
    {
      definition: { name: 'calculator', description: 'Counts', inputSchema: { type: 'object' } },
      call: () => Promise.resolve('42'),
    },
  ],
};

it('a run goes on only where all is connected that it began with', async () => {
  const tenantId = await addTenant(fixture.database, { settings: rules });
  fixture.models.script(toolReply([{ name: 'calculator' }]));
  const waiting = await fixture.runtime.run(aTask(tenantId), { connected });
  expect(waiting.status).toBe('awaiting_input');
  const asked = fixture.models.received.length;
  const decision = { tenantId, runId: waiting.run_id, decision: 'approve' } as const;
  const refused = await failureOf(fixture.runtime.admin.approval.decide(decision));
  expect(refused.code).toBe('APPROVAL_INCOMPLETE');
  expect(refused.message).toContain('it started with the memory, the tool "calculator".');
  // Neither is the decision on record, nor was anything asked.
  const [row] = await fixture.database.query('SELECT state, decision FROM elo_agent_runs WHERE tenant_id = $1', [
    tenantId,
  ]);
  expect([row, fixture.models.received.length]).toEqual([{ state: 'waiting', decision: null }, asked]);
  fixture.models.script(textReply('It is 42.'));
  const task = aTask(tenantId, { approval: { run_id: waiting.run_id, decision: 'approve' } });
  const result = await fixture.runtime.run(task, { connected });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'calculator', result: 42 }]);
  expect(said).toHaveLength(1);
});

it('nothing that is connected is needed by a run that began without', async () => {
  const tenantId = await addTenant(fixture.database, { settings: rules });
  fixture.models.script(toolReply([{ name: 'echo' }]));
  const { run_id: runId } = await fixture.runtime.run(aTask(tenantId));
  fixture.models.script(textReply('Done'));
  const decision = { tenantId, runId, decision: 'approve' } as const;
  expect(await fixture.runtime.admin.approval.decide(decision)).toMatchObject({ status: 'completed' });
});

it('a run with a tool for SQL goes on where its role is, and a call of it elsewhere says what is missing', async () => {
  const tenantId = await addTenant(fixture.database, { settings: rules });
  await giveTool(fixture.database, tenantId, { code: 'sql_query', transport: 'builtin' });
  const { models, database } = fixture;
  const config = { database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } };
  const withRole = createRuntime({
    ...config,
    plugins: { tools: [echoTool] },
    sqlQuery: { database: { url: database.url } },
  });
  models.script(toolReply([{ name: 'echo' }]));
  const { run_id: runId } = await withRole.run(aTask(tenantId));
  const decision = { tenantId, runId, decision: 'approve' } as const;
  expect((await failureOf(fixture.runtime.admin.approval.decide(decision))).message).toContain('the SQL role');
  models.script(textReply('Done'));
  expect(await withRole.admin.approval.decide(decision)).toMatchObject({ status: 'completed' });
  await withRole.close();
  const call = { tenantId, tool: 'sql_query', arguments: { query: 'SELECT 1' } };
  expect((await failureOf(fixture.runtime.admin.tool.execute(call))).code).toBe('TOOL_NOT_CALLABLE');
});

import { readdirSync } from 'node:fs';

import { createRuntime } from '../../runtime';
import {
  addMcpServer,
  addTenant,
  createMigratedDatabase,
  type TestDatabase,
  useMcpServer,
} from '../support/servers/database';
import { startMcpServer, type TestMcpServer } from '../support/servers/mcp-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';

const RUNS = 1000;
const IN_FLIGHT = 50;
const TENANTS = 10;

let database: TestDatabase;
let models: ModelServer;
let server: TestMcpServer;
let tenants: readonly string[];

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  // Each tenant has a tool of its own, and is told the credential that it came with.
  server = await startMcpServer({
    tools: (headers) => [{ name: `tool_of_${String(headers['x-tenant'])}` }],
    answer: ({ name, headers }) => ({
      content: [{ type: 'text', text: `${name} for ${String(headers['x-tenant'])}` }],
    }),
  });
  tenants = await Promise.all(Array.from({ length: TENANTS }, () => addTenant(database)));
  const serverId = await addMcpServer(database, { code: 'shared', url: server.url });
  for (const [index, tenantId] of tenants.entries()) {
    const auth = { kind: 'headers', headers: { 'x-tenant': `t${index}` } };
    await useMcpServer(database, { tenantId, serverId, auth });
  }
  models.always((request) =>
    request.messages.at(-1)?.role === 'tool'
      ? textReply('done').body
      : toolReply([{ name: request.tools?.[0]?.function.name ?? 'none' }]).body,
  );
});
afterAll(() => Promise.all([models.close(), server.close(), database.close()]));

const openFiles = (): number => readdirSync('/proc/self/fd').length;

it(`keeps ten connections over ${RUNS} runs of ${TENANTS} tenants, mixes no tool up and leaves nothing open`, async () => {
  const runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
  let next = 0;
  const work = async (until: number): Promise<void> => {
    for (let index = next++; index < until; index = next++) {
      const tenant = index % TENANTS;
      const result = await runtime.run({
        task_id: `mcp-storm-${index}`,
        config: { agent_tier: 'pro', message: 'go' },
        meta: { tenant_id: tenants[tenant] },
      });
      // The name holds no secret, so it is not blanked; the credential in the answer is too short to be one.
      expect(result.result.tool_calls).toMatchObject([
        { tool: `shared_tool_of_t${tenant}`, result: `tool_of_t${tenant} for t${tenant}` },
      ]);
    }
  };
  const workers = (until: number): Promise<unknown> =>
    Promise.all(Array.from({ length: IN_FLIGHT }, () => work(until)));
  await workers(RUNS / 5);
  next = RUNS / 5;
  const filesBefore = openFiles();
  await workers(RUNS);
  expect(openFiles()).toBeLessThanOrEqual(filesBefore + IN_FLIGHT);
  expect(server.handshakes).toHaveLength(TENANTS);
  expect(server.lists).toHaveLength(TENANTS);
  expect(server.calls).toHaveLength(RUNS);
  await runtime.close();
  expect(server.openSessions()).toBe(0);
  expect(server.openStreams()).toBe(0);
});

import type { JsonObject } from '../../../runtime/util/json';
import { migrated, switched } from '../../runtime/workflow-migration/a-cluster';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { attach, node } from '../../support/workflows/workflow-builder';
import { vaultWorld } from '../../support/worlds/vault';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const ATTACK = "'; DROP TABLE elo_agent_tiers; -- \\' $$ \n\\! x";

let database: TestDatabase;

beforeEach(async () => {
  database = await createMigratedDatabase();
  await database.query("INSERT INTO elo_t_tenants (id, name) VALUES ($1, 'Shop')", [TENANT]);
});
afterEach(() => database.close());

function sqlFor(url: string): string {
  const input = switched(
    {
      a: {
        agent: { name: `Agent ${ATTACK}` },
        model: { parameters: { model: ATTACK, options: { temperature: 0.25 } } },
      },
      b: { model: { parameters: { model: 'x/y', options: { maxTokens: 70 } } } },
    },
    {
      parts: [
        node('Find Orders', 'base.httpRequestTool@4.2', {
          toolDescription: ATTACK,
          url: `=${url}/{{ $fromAI('id', ${JSON.stringify(ATTACK)}) }}`,
        }),
        node('Shop', 'ai.mcpClientTool@1.2', { endpointUrl: 'https://shop.example.com/mcp', options: {} }),
      ],
      wires: ['Find Orders', 'Shop'].flatMap((tool) => attach(tool, 'ai_tool', [`Agent ${ATTACK}`, 'Agent b'])),
    },
  );
  return migrated({ ...input, name: ATTACK }).sql;
}

const rows = (sql: string): Promise<readonly JsonObject[]> => database.query<JsonObject>(sql);

it('adds the rows, once, whatever the names hold', async () => {
  const sql = sqlFor('https://shop.example.com');
  for (let time = 1; time <= 2; time++) await database.query(sql);
  // As servers were set up long ago.
  await database.query('SET standard_conforming_strings = off');
  await database.query(sql);
  await database.query('RESET standard_conforming_strings');
  expect(
    await rows(
      "SELECT model_id, temperature::text, max_tokens FROM elo_agent_tiers WHERE code LIKE '%\\_%' ORDER BY 2 NULLS LAST",
    ),
  ).toEqual([
    { model_id: ATTACK, temperature: '0.25', max_tokens: null },
    { model_id: 'x/y', temperature: null, max_tokens: 70 },
  ]);
  expect(
    await rows(
      'SELECT code, description, transport_config FROM elo_agent_tools JOIN elo_t_tenant_tools ON tool_id = elo_agent_tools.id',
    ),
  ).toEqual([{ code: 'Find_Orders', description: ATTACK, transport_config: { method: 'GET', path: '/{{id}}' } }]);
  expect(
    await rows('SELECT code, url FROM elo_agent_mcp_servers JOIN elo_t_tenant_mcp_servers ON server_id = id'),
  ).toEqual([{ code: 'Shop', url: 'https://shop.example.com/mcp' }]);
});

it('fails as a whole when a code belongs to another tool', async () => {
  await database.query(sqlFor('https://shop.example.com'));
  await expect(database.query(sqlFor('https://other.example.com'))).rejects.toThrow(
    'the code Find_Orders is that of another tool already',
  );
});

describe('a secret that stood in a workflow', () => {
  const world = vaultWorld();

  it('is in none of the rows, and is sent once it is in the vault', async () => {
    const part = node('Find Orders', 'base.httpRequestTool@4.2', {
      toolDescription: 'Finds orders',
      url: world.hook().url,
      sendHeaders: true,
      headerParameters: { parameters: [{ name: 'X-Api-Key', value: 'CANARY' }] },
    });
    const wires = attach('Find Orders', 'ai_tool', ['Agent a', 'Agent b']);
    const input = switched({ a: {}, b: {} }, { parts: [part], wires });
    const { sql } = migrated(input, { tenant: world.tenantId() });
    expect(sql).not.toContain('CANARY');
    await world.fixture().database.query(sql);
    const before = await world.run(world.aRuntime(), 'Find_Orders');
    expect(before.warnings).toContainEqual(expect.objectContaining({ code: 'TOOL_SKIPPED' }));
    await world.setOwn('Find_Orders_headers_X-Api-Key', 'CANARY');
    await world.run(world.aRuntime(), 'Find_Orders');
    expect(world.hook().requests.map(({ headers }) => headers['x-api-key'])).toEqual(['CANARY']);
  });
});

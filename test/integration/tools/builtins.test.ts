import { inspect } from 'node:util';

import { createRuntime } from '../../../runtime';
import { BUILTIN_TOOLS } from '../../../runtime/tools/builtin/builtin-tools';
import type { JsonValue } from '../../../runtime/util/json';
import { addTenant, addTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { freePort, startRedis, type TestRedis } from '../../support/servers/redis';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { TENANT_ID } from '../../support/values/memory-stores';
import { callTool, type CallToolOptions } from '../../support/worlds/call-tool';

const OTHER_TENANT = '00000000-0000-4000-8000-000000000002';

const builtin = (code: string, more: object = {}) => ({ code, transport: 'builtin', endpoint: null, ...more });

describe('which built-in a row is', () => {
  it('is told by its code, or by transport_config.builtin', async () => {
    const named = builtin('remember', { transportConfig: { builtin: 'set_variable' } });
    for (const row of [builtin('set_variable'), named]) {
      expect((await callTool(row, { name: 'a', value: 1 })).value).toEqual({ name: 'a', value: 1 });
    }
  });

  it('is never told by the tenant', async () => {
    const own = { transport_config: { builtin: 'http_request' } };
    const { definition } = await callTool(builtin('set_variable', { customConfig: own }), { name: 'a', value: 1 });
    expect(definition?.inputSchema).toEqual(BUILTIN_TOOLS.set_variable?.inputSchema);
  });

  it.each([['nothing'], ['constructor'], ['__proto__']])('has to be one that there is, not %s', async (name) => {
    const row = builtin('x', { transportConfig: { builtin: name } });
    expect((await callTool(row)).warnings).toMatchObject([
      { code: 'TOOL_SKIPPED', message: containing(`there is no built-in tool "${name}"`) },
    ]);
  });
});

describe('what a model is shown of a built-in', () => {
  it('is what it brings, where the row says nothing', async () => {
    const { definition } = await callTool(builtin('set_variable', { description: '' }), { name: 'a', value: 1 });
    const { description, inputSchema } = BUILTIN_TOOLS.set_variable ?? {};
    expect(definition).toMatchObject({ description, inputSchema });
  });

  it('is what the row says, where it says something', async () => {
    const parametersSchema = { type: 'object', properties: { name: { const: 'mood' }, value: { type: 'string' } } };
    const { definition } = await callTool(builtin('set_variable', { description: 'Own', parametersSchema }), {
      name: 'mood',
    });
    expect(definition).toMatchObject({ description: 'Own', inputSchema: parametersSchema });
  });
});

describe('set_variable', () => {
  const set = (name: string, value: JsonValue, variables = new Map<string, JsonValue>()) =>
    callTool(builtin('set_variable'), { name, value }, { variables });

  it('leaves a value, and replaces it', async () => {
    const variables = new Map<string, JsonValue>();
    expect((await set('order', { id: 1 }, variables)).value).toEqual({ name: 'order', value: { id: 1 } });
    await set('order', null, variables);
    expect([...variables]).toEqual([['order', null]]);
  });

  it.each([[''], ['1a'], ['a.b'], ['a b'], ['a'.repeat(65)], ['__proto__'], ['constructor'], ['prototype']])(
    'takes no name %j',
    async (name) => {
      const variables = new Map<string, JsonValue>();
      expect((await set(name, 1, variables)).output?.code).toBe('TOOL_INVALID_ARGS');
      expect(variables.size).toBe(0);
    },
  );

  it('keeps a hundred, and 64 KiB of them', async () => {
    const variables = new Map<string, JsonValue>(Array.from({ length: 100 }, (_, index) => [`v${index}`, index]));
    expect((await set('more', 1, variables)).value.message).toContain('only 100 variables fit');
    expect((await set('v1', 'x'.repeat(60_000), variables)).output?.isError).toBe(false);
    expect((await set('v2', 'x'.repeat(10_000), variables)).value.message).toContain('longer than 65536 bytes');
    expect(variables.get('v2')).toBe(2);
  });
});

describe('redis_get', () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis();
    await redis.client.mset(
      ...[`tenant:${TENANT_ID}:cart`, '{"items":[1]}', `tenant:${TENANT_ID}:text`, '42 – text'],
      ...[`tenant:${OTHER_TENANT}:cart`, 'CANARY', 'global', 'CANARY', 'shop:cart', 'of the shop'],
    );
    await redis.client.hset(`tenant:${TENANT_ID}:hash`, 'a', '1');
  });
  afterAll(() => redis.close());

  const get = (key: string, more: object = {}, options: CallToolOptions = {}) =>
    callTool(builtin('redis_get', more), { key }, { redis: { url: redis.url, rejectUnauthorized: true }, ...options });

  it.each([
    ['cart', { items: [1] }],
    ['text', '42 – text'],
    ['missing', null],
  ])("reads the tenant's key %s", async (key, value) => {
    expect((await get(key)).output).toEqual({ isError: false, value: { key, value } });
  });

  it.each([`tenant:${OTHER_TENANT}:cart`, `tenant:${TENANT_ID}:cart`, 'tenant:x'])(
    'refuses the full name %s, which would be looked for in the wrong place',
    async (key) => {
      expect((await get(key)).output?.code).toBe('TOOL_PERMISSION_DENIED');
    },
  );

  it.each(['global', '../global', `:${OTHER_TENANT}:cart`, '*', 'cart\nGET global', `cart"\r\nGET global`])(
    'finds nothing of anybody else under %j',
    async (key) => {
      expect((await get(key)).value).toEqual({ key, value: null });
    },
  );

  it('reads another tenant only for that tenant', async () => {
    expect((await get('cart', {}, { tenantId: OTHER_TENANT })).value.value).toBe('CANARY');
  });

  it('reads below the prefix that the row names, which is not empty', async () => {
    expect((await get('cart', { transportConfig: { key_prefix: 'shop:' } })).value.value).toBe('of the shop');
    const { warnings } = await get('global', { transportConfig: { key_prefix: '' } });
    expect(warnings).toMatchObject([{ message: containing('transport_config.key_prefix') }]);
  });

  it('cuts a long value', async () => {
    await redis.client.set(`tenant:${TENANT_ID}:long`, JSON.stringify(Array(10_000).fill('ü')));
    const { value } = await get('long', {}, { maxOutputBytes: 1000 });
    expect(value).toMatchObject({ key: 'long', truncated: true });
    expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(1000);
  });

  it('says that a key holds no text', async () => {
    expect((await get('hash')).output).toMatchObject({
      code: 'TOOL_FAILED',
      value: { message: containing('no text') },
    });
  });

  it('is not offered without Redis', async () => {
    const { warnings } = await callTool(builtin('redis_get'), { key: 'cart' });
    expect(warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing('no Redis is configured') }]);
  });

  it('fails without the password when Redis is down', async () => {
    const url = `redis://:CANARY-password@127.0.0.1:${await freePort()}`;
    const { output } = await get('cart', {}, { redis: { url, rejectUnauthorized: true } });
    expect(output).toMatchObject({ code: 'TOOL_UNREACHABLE', value: { message: containing('ECONNREFUSED') } });
    expect(inspect(output)).not.toContain('CANARY');
  });
});

describe('neo4j_query', () => {
  let neo4j: TestServer;
  let answer: { readonly status?: number; readonly body: unknown };

  beforeAll(async () => {
    neo4j = await startServer((_request, response) => sendJson(response, answer.body, answer.status ?? 202));
  });
  beforeEach(() => {
    neo4j.requests.length = 0;
    answer = { body: { data: { fields: ['name'], values: [['Ann'], ['Bob']] }, bookmarks: ['x'] } };
  });
  afterAll(() => neo4j.close());

  const CYPHER = 'MATCH (n {tenant: $tenant_id}) RETURN n.name AS name';
  const query = (input: object = {}, more: object = {}, options: CallToolOptions = {}) =>
    callTool(builtin('neo4j_query', { endpoint: `${neo4j.url}/`, ...more }), { cypher: CYPHER, ...input }, options);

  it('asks with read access, its credential and our tenant, whatever the model writes', async () => {
    const parameters = { q: 'x', tenant_id: OTHER_TENANT };
    const { output } = await query({ parameters }, { authHeader: 'Basic bmVvNGo6eA==' });
    expect(output).toEqual({ isError: false, value: { fields: ['name'], rows: [['Ann'], ['Bob']] } });
    expect(neo4j.requests).toMatchObject([
      { method: 'POST', path: '/db/neo4j/query/v2', headers: { authorization: 'Basic bmVvNGo6eA==' } },
    ]);
    expect(JSON.parse(neo4j.requests[0]?.body ?? '')).toEqual({
      statement: CYPHER,
      parameters: { q: 'x', tenant_id: TENANT_ID },
      accessMode: 'Read',
    });
  });

  it('returns nodes, relationships and missing values as the Query API documents them', async () => {
    const ann = { elementId: '4:ff04df25:0', labels: ['Person'], properties: { name: 'Ann', age: 42 } };
    const knows = {
      ...{ elementId: '5:ff04df25:1', startNodeElementId: '4:ff04df25:0', endNodeElementId: '4:ff04df25:2' },
      ...{ type: 'KNOWS', properties: { since: '2020-05-01' } },
    };
    answer = { body: { data: { fields: ['n', 'r', 'nick'], values: [[ann, knows, null]] }, bookmarks: ['FB:x'] } };
    const { output } = await query();
    expect(output).toEqual({ isError: false, value: { fields: ['n', 'r', 'nick'], rows: [[ann, knows, null]] } });
  });

  it.each([
    ['MATCH (n {t: $tenant_id}) SET n.a = 1', 'it holds the word SET'],
    ["LOAD CSV FROM 'http://a/' AS x RETURN x, $tenant_id", 'it holds the word LOAD'],
    ['CALL dbms.listConfig() YIELD name RETURN name, $tenant_id', 'dbms.listconfig'],
    ['MATCH (n) RETURN n', 'does not filter by $tenant_id'],
  ])('sends nothing of %s', async (cypher, reason) => {
    expect((await query({ cypher })).output).toMatchObject({
      code: 'TOOL_PERMISSION_DENIED',
      value: { message: containing(reason) },
    });
    expect(neo4j.requests).toHaveLength(0);
  });

  it('may be opened by its row: another database, procedures, a graph of one tenant', async () => {
    const transportConfig = { database: 'shop-1', procedures: ['apoc.meta.stats'], require_tenant_id: false };
    await query({ cypher: 'CALL apoc.meta.stats() YIELD labels RETURN labels' }, { transportConfig });
    expect(neo4j.requests).toMatchObject([{ path: '/db/shop-1/query/v2' }]);
  });

  it('gives no more rows than the row allows, and no more than fit', async () => {
    answer = { body: { data: { fields: ['n'], values: Array.from({ length: 500 }, (_, index) => [`row ${index}`]) } } };
    expect((await query()).value).toMatchObject({ truncated: true });
    expect((await query()).value.rows).toHaveLength(100);
    expect((await query({}, { transportConfig: { max_rows: 3 } })).value.rows).toHaveLength(3);
    const { value } = await query({}, {}, { maxOutputBytes: 300 });
    expect(JSON.stringify(value).length).toBeLessThanOrEqual(300);
  });

  it.each([[202], [400]])('tells of the errors in its answer of HTTP %i', async (status) => {
    answer = {
      status,
      body: { errors: [{ code: 'Neo.ClientError.Statement.SyntaxError', message: 'Invalid input' }] },
    };
    expect((await query()).output).toMatchObject({
      code: 'TOOL_FAILED',
      value: { message: containing('Neo.ClientError.Statement.SyntaxError: Invalid input') },
    });
  });

  it.each([[{}], [{ data: {} }], [[]], ['text']])('does not take %j for an answer', async (body) => {
    answer = { body };
    expect((await query()).output?.code).toBe('TOOL_FAILED');
  });

  it.each([
    [{ endpoint: null }, 'no mcp_endpoint'],
    [{ transportConfig: { database: '../x' } }, 'transport_config.database'],
    [{ transportConfig: { max_rows: 0 } }, 'transport_config.max_rows'],
  ])('is not offered with %j', async (more, reason) => {
    expect((await query({}, more)).warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing(reason) }]);
  });
});

describe('in a run', () => {
  let fixture: AgentFixture;
  let redis: TestRedis;

  beforeAll(async () => {
    [fixture, redis] = await Promise.all([startAgentFixture(), startRedis()]);
    for (const code of Object.keys(BUILTIN_TOOLS)) await addTool(fixture.database, { code, transport: 'builtin' });
    await fixture.database.query('UPDATE elo_agent_tools SET description = NULL');
  });
  afterAll(() => Promise.all([fixture.close(), redis.close()]));

  it('no built-in is offered to a tenant whose rows give it none', async () => {
    const tenantId = await addTenant(fixture.database);
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(aTask(tenantId));
    expect(fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name)).toEqual(['echo']);
  });

  it('a model reads a key of its tenant, with Redis from the configuration', async () => {
    const tenantId = await addTenant(fixture.database);
    await redis.client.set(`tenant:${tenantId}:cart`, 'two bells');
    await fixture.database.query(
      `INSERT INTO elo_t_tenant_tools (tenant_id, tool_id) SELECT $1, id FROM elo_agent_tools WHERE code = 'redis_get'`,
      [tenantId],
    );
    const runtime = createRuntime({
      database: { url: fixture.database.url },
      model: { apiKey: 'k', baseUrl: fixture.models.url },
      redis: { url: redis.url },
    });
    fixture.models.script(toolReply([{ name: 'redis_get', arguments: { key: 'cart' } }]), textReply('Done'));
    const { result } = await runtime.run(aTask(tenantId));
    expect(result.tool_calls).toMatchObject([{ result: { key: 'cart', value: 'two bells' } }]);
    expect(fixture.models.received.at(-1)?.tools?.[0]?.function.description).toBe(BUILTIN_TOOLS.redis_get?.description);
    await runtime.close();
  });

  it.each(['http://localhost:6379', 'redis://', 'redis://b/abc'])('the Redis URL %s is refused by name', (url) => {
    const config = { database: { url: fixture.database.url }, model: {}, redis: { url } };
    expect(() => createRuntime(config)).toThrow('redis.url');
  });
});

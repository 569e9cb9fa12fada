import { createRuntime, type Runtime } from '../../../runtime';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { startRedis } from '../../support/servers/redis';
import { withCode } from '../../support/setup/matchers';

let database: TestDatabase;
let runtime: Runtime;

beforeAll(async () => {
  database = await createMigratedDatabase();
  runtime = createRuntime({ database: { url: database.url }, model: {} });
});
afterAll(async () => {
  await runtime.close();
  await database.close();
});

const aTenant = async (): Promise<string> => (await runtime.admin.tenant.create({ name: 'Acme' })).id;
const setSettings = (tenantId: string, settings: object) =>
  database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [tenantId, JSON.stringify(settings)]);
const hook = (code: string, properties: object) =>
  runtime.admin.tool.create({
    code,
    endpoint: 'http://10.0.0.5/x',
    parametersSchema: { type: 'object', properties } as never,
  });

it.each([
  { default_tier: 'gone' },
  { callback_hosts: 'x' },
  { mcp_allowed_hosts: ['*'] },
  { max_iterations: 'many' },
  { monthly_cost_limit: 'typo' },
  { tool_config: { disabled_tool: [] } },
])('a tenant with the settings %j is stopped, and deleted', async (settings) => {
  const { tenant } = runtime.admin;
  const tenantId = await aTenant();
  await setSettings(tenantId, settings);
  expect(await tenant.deactivate({ tenantId })).toMatchObject({ is_active: false, settings });
  await expect(tenant.activate({ tenantId })).rejects.toThrow();
  expect(await tenant.delete({ tenantId })).toMatchObject({ deleted: true });
});

const toBase64 = (text: string): string => Buffer.from(text).toString('base64url');

describe('a list by page', () => {
  it('goes on when the tenant that ended the page is gone', async () => {
    const { tenant } = runtime.admin;
    for (const name of ['page a', 'page b', 'page c', 'page c']) await tenant.create({ name });
    const first = await tenant.list({ filter: 'page', limit: 2 });
    await database.query('DELETE FROM elo_t_tenants WHERE id = $1', [first.tenants[1]?.id]);
    const second = await tenant.list({ filter: 'page', limit: 1, after: first.next ?? '' });
    const third = await tenant.list({ filter: 'page', limit: 1, after: second.next ?? '' });
    expect([second, third].flatMap(({ tenants }) => tenants.map(({ name }) => name))).toEqual(['page c', 'page c']);
    expect(third.next).toBeNull();
  });

  it('goes on when the run that ended the page is gone', async () => {
    const tenantId = await aTenant();
    const add = (task: string) =>
      database.query(
        `INSERT INTO elo_agent_runs (tenant_id, task_id, run_id, digest, state, attempt, created_at)
         VALUES ($1, $2, gen_random_uuid(), 'x', 'done', 1, timestamptz '2026-01-01 00:00:00.123456+00')`,
        [tenantId, task],
      );
    for (const task of ['one', 'two', 'three']) await add(task);
    const { runs, next } = await runtime.admin.run.list({ tenantId, limit: 1 });
    await database.query('DELETE FROM elo_agent_runs WHERE tenant_id = $1 AND task_id = $2', [
      tenantId,
      runs[0]?.task_id,
    ]);
    const rest = await runtime.admin.run.list({ tenantId, after: next ?? '' });
    expect([...runs, ...rest.runs].map(({ task_id: id }) => id)).toEqual(['two', 'three', 'one']);
  });

  it.each(['', 'x', 'WyJhIl0', ...['["a","no uuid"]', '["\\u0000","a"]', '["NaN","t"]'].map(toBase64)])(
    'refuses %j as the place where one ended',
    async (after) => {
      await expect(runtime.admin.tenant.list({ after })).rejects.toThrow(withCode('ADMIN_INPUT_INVALID'));
      const tenantId = await aTenant();
      await expect(runtime.admin.run.list({ tenantId, after })).rejects.toThrow(withCode('ADMIN_INPUT_INVALID'));
    },
  );
});

it.each([
  { name: 'a\0b' },
  { name: 'a', settings: { note: 'a\0b' } },
  { name: 'a', settings: { note: 'half \ud800' } },
  { name: 'a', settings: { 'a\0b': { deep: 1 } } },
])('a NUL is refused in words: %j', async (input) => {
  await expect(runtime.admin.tenant.create(input as never)).rejects.toThrow(withCode('ADMIN_INPUT_INVALID'));
});

describe('rules that match nothing are refused where they are written', () => {
  it('for tools that do not exist, in the settings of tenants and tiers', async () => {
    const { tenant, tier } = runtime.admin;
    await hook('transfer', { amount: { type: 'number' } });
    const tenantId = await aTenant();
    const rules = { tool_permissions: { Transfer: { decision: 'ask' } } };
    const update = (toolConfig: object) => tenant.update({ tenantId, settings: { tool_config: toolConfig as never } });
    await expect(update(rules)).rejects.toThrow(withCode('RULE_UNMATCHED'));
    await expect(update({ agents: { support: rules } })).rejects.toThrow('did you mean "transfer"?');
    await expect(update({ disabled_tools: ['nowhere'] })).rejects.toThrow('there is no tool "nowhere"');
    await expect(update({ tool_permissions: { transfer: { limits: { amout: { max: 5 } } } } })).rejects.toThrow(
      'declares no argument "amout" (did you mean "amount"?)',
    );
    await expect(tier.set({ code: 'pro', toolConfig: { disabled_tools: ['transfr'] } })).rejects.toThrow(
      withCode('RULE_UNMATCHED'),
    );
    // A star stands for tools that a workflow or code brings.
    const good = {
      disabled_tools: ['calculator*'],
      tool_permissions: { transfer: { limits: { amount: { max: 5 } } } },
    };
    await expect(update(good)).resolves.toMatchObject({ settings: { tool_config: good } });
  });

  it('but not when something else of the tenant is changed, since tools come and go', async () => {
    const tenantId = await aTenant();
    await setSettings(tenantId, { tool_config: { disabled_tools: ['gone'] } });
    await expect(runtime.admin.tenant.update({ tenantId, name: 'Other' })).resolves.toMatchObject({ name: 'Other' });
  });

  it('for arguments that the tool does not declare, in its limits', async () => {
    const { tool } = runtime.admin;
    await hook('wire', { amount: { type: 'number' } });
    const tenantId = await aTenant();
    await tool.enable({ tenantId, code: 'wire' });
    const limit = (limits: object) => tool.setLimits({ tenantId, code: 'wire', permissions: { limits } as never });
    await expect(limit({ amout: { max: 5 } })).rejects.toThrow(withCode('RULE_UNMATCHED'));
    await expect(limit({ amount: { max: 5 } })).resolves.toMatchObject({
      permissions: { limits: { amount: { max: 5 } } },
    });
  });
});

describe('the rules of the host for outgoing requests', () => {
  const asked: string[] = [];
  /** Forbids what holds the word. */
  const forbidding = (word: string) => ({
    egress: {
      validateUrl: (url: string | URL) => {
        asked.push(String(url));
        return Promise.resolve({ ok: !String(url).includes(word) });
      },
      createSecureLookup: () => () => undefined,
    },
  });
  let target: TestServer;
  let first: TestServer;

  beforeAll(async () => {
    target = await startServer((_request, response) => sendJson(response, { data: [{ id: 'a/b', pricing: {} }] }));
    first = await startServer((request, response) => {
      const place = request.path.includes('/loop') ? '/loop' : `${target.url}/secret`;
      response.writeHead(302, { location: place }).end();
    });
  });
  afterAll(() => Promise.all([target.close(), first.close()]));

  it('are asked of each redirect of a price list, which takes the key along to no other server', async () => {
    const { price } = runtime.admin;
    const from = first.url.replace('http://', 'http://user:CANARY@');
    await expect(price.sync({ from, dryRun: true }, forbidding('/secret'))).rejects.toThrow(
      withCode('ADDRESS_FORBIDDEN'),
    );
    expect(target.requests).toHaveLength(0);
    await expect(price.sync({ from, dryRun: true }, forbidding('nothing'))).resolves.toMatchObject({ models: 1 });
    expect(first.requests[0]?.headers.authorization).toContain('Basic');
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    await expect(price.sync({ from: `${first.url}/loop` })).rejects.toThrow('more than 5 redirects');
  });

  it('hold for a tool that is tried out', async () => {
    const { tool } = runtime.admin;
    await tool.create({ code: 'web_fetch', transport: 'builtin' });
    const tenantId = await aTenant();
    await tool.enable({ tenantId, code: 'web_fetch', customConfig: { allowed_hosts: ['127.0.0.1'] } });
    const call = { tenantId, tool: 'web_fetch', arguments: { url: `${target.url}/page` } };
    const before = target.requests.length;
    await expect(tool.execute(call, forbidding('/page'))).rejects.toMatchObject({
      code: 'TOOL_PERMISSION_DENIED',
      message: expect.stringContaining('127.0.0.1') as string,
    });
    expect(target.requests).toHaveLength(before);
    expect(asked).toContain(call.arguments.url);
  });

  it('hold for MCP servers that are looked at', async () => {
    const { mcpServer } = runtime.admin;
    const tenantId = await aTenant();
    await mcpServer.add({ tenantId, name: 'looked', url: `${target.url}/mcp` });
    const before = target.requests.length;
    await expect(mcpServer.health({ tenantId }, forbidding('/mcp'))).rejects.toThrow(withCode('ADDRESS_FORBIDDEN'));
    await expect(mcpServer.refresh({ tenantId }, forbidding('/mcp'))).rejects.toThrow(withCode('ADDRESS_FORBIDDEN'));
    const { components } = await runtime.admin.diagnostics.summary({ tenantId }, forbidding('/mcp'));
    expect(components.find(({ component }) => component.includes(tenantId))?.problems).toMatchObject([
      { code: 'ADDRESS_FORBIDDEN' },
    ]);
    expect(target.requests).toHaveLength(before);
  });

  it('hold for what diagnostics reaches', async () => {
    const { components } = await runtime.admin.diagnostics.summary({}, forbidding('10.0.0.5'));
    expect(components.find(({ component }) => component.startsWith('tool server'))?.problems).toMatchObject([
      { code: 'ADDRESS_FORBIDDEN' },
    ]);
  });
});

it('diagnostics tell of a Redis that may throw the bill away', async () => {
  const redis = await startRedis({ settings: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
  const own = createRuntime({ database: { url: database.url }, model: {}, redis: { url: redis.url } });
  try {
    const { components } = await own.admin.diagnostics.summary();
    expect(components.find(({ component }) => component === 'redis')).toMatchObject({
      state: 'degraded',
      problems: [{ code: 'QUEUE_REDIS_EVICTS' }],
    });
  } finally {
    await own.close();
    await redis.close();
  }
});

describe('what stops or limits is not refused for what else is wrong', () => {
  it('a tool is switched off, and limited, whatever its schema and its older rules say', async () => {
    const { tool } = runtime.admin;
    await hook('broken', { amount: { type: 'number' } });
    const tenantId = await aTenant();
    await tool.enable({ tenantId, code: 'broken' });
    const rules = JSON.stringify({ permissions: { limits: { amout: { max: 5 } } } });
    await database.query('UPDATE elo_t_tenant_tools SET custom_config = $2 WHERE tenant_id = $1', [tenantId, rules]);
    await expect(tool.setLimits({ tenantId, code: 'broken', dailyLimit: 0 })).resolves.toMatchObject({
      usage_limit_daily: 0,
    });
    await expect(tool.enable({ tenantId, code: 'broken' })).resolves.toMatchObject({ is_enabled: true });
    await database.query(`UPDATE elo_agent_tools SET parameters_schema = '{"type":"strin"}' WHERE code = 'broken'`);
    await expect(tool.update({ code: 'broken', description: 'x' })).rejects.toThrow(withCode('TOOL_INVALID'));
    await expect(tool.update({ code: 'broken', isActive: false })).resolves.toMatchObject({ is_active: false });
  });

  it('a budget is set for a tenant whose tier is gone', async () => {
    const tenantId = await aTenant();
    await setSettings(tenantId, { default_tier: 'gone' });
    const settings = { monthly_cost_limit_usd: '0' };
    await expect(runtime.admin.tenant.update({ tenantId, settings })).resolves.toMatchObject({ settings });
  });

  it('a rule for a tool of this process is taken', async () => {
    const tools = [
      {
        definition: { name: 'of_code', description: 'x', inputSchema: { type: 'object' } },
        parseInput: (value: object) => ({ ok: true, value }),
        execute: () => Promise.resolve({ isError: false, value: 'x' }),
      },
    ];
    const own = createRuntime({ database: { url: database.url }, model: {}, plugins: { tools: tools as never } });
    const settings = { tool_config: { tool_permissions: { of_code: { decision: 'ask' } } } };
    await expect(own.admin.tenant.create({ name: 'Acme', settings })).resolves.toMatchObject({ settings });
    await own.close();
  });
});

import { createRuntime, type Runtime } from '../../../runtime';
import { OPERATIONS } from '../../../runtime/admin/operations';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { withCode } from '../../support/setup/matchers';

const VAULT_KEY = Buffer.alloc(32, 7).toString('base64');

let database: TestDatabase;
let runtime: Runtime;

beforeEach(async () => {
  database = await createMigratedDatabase();
  runtime = createRuntime({ database: { url: database.url }, model: {}, vaultKey: VAULT_KEY });
});
afterEach(async () => {
  await runtime.close();
  await database.close();
});

/** Everything that administration may write. */
async function everything(): Promise<unknown> {
  const tables = ['elo_t_tenants', 'elo_agent_tools', 'elo_t_tenant_tools', 'elo_agent_tiers', 'elo_model_pricing'];
  const rows = tables.map((table) => database.query(`SELECT * FROM ${table} ORDER BY 1`));
  return Promise.all(rows);
}

async function refuses(work: Promise<unknown>, code: string): Promise<void> {
  const before = await everything();
  await expect(work).rejects.toThrow(withCode(code));
  expect(await everything()).toEqual(before);
}

const ORDERS = {
  code: 'find_orders',
  description: 'Find the orders of a customer',
  endpoint: 'http://10.0.0.5/orders',
  fields: [{ name: 'customer', type: 'string', required: true }],
} as const;

it('every operation refuses what it does not know, with a code and nothing written', async () => {
  const admin = runtime.admin as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>;
  for (const { name } of OPERATIONS) {
    const [resource = '', verb = ''] = name.split('.');
    await refuses(admin[resource]?.[verb]?.({ unheardOf: 1 }) as Promise<unknown>, 'ADMIN_INPUT_INVALID');
  }
  const own = Object.entries(admin).flatMap(([resource, verbs]) =>
    Object.keys(verbs).map((verb) => `${resource}.${verb}`),
  );
  expect(own.sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
});

it('refuses what an operation would have to ignore', async () => {
  const { tool, price } = runtime.admin;
  const tenantId = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
  await refuses(tool.list({ tier: 'pro' }), 'ADMIN_INPUT_INVALID');
  await refuses(tool.list({ agent: 'sales' }), 'ADMIN_INPUT_INVALID');
  await refuses(tool.list({ tenantId, filter: 'pay' }), 'ADMIN_INPUT_INVALID');
  await refuses(price.sync({ list: '{}', from: 'https://models.example.com' }), 'ADMIN_INPUT_INVALID');
  await refuses(runtime.admin.mcpServer.approve({ tenantId, server: 'shop', tools: [] }), 'ADMIN_INPUT_INVALID');
});

it('says of an operation without input that it takes none', async () => {
  const list = runtime.admin.tier.list as (input: object) => Promise<unknown>;
  await expect(list({ limit: 1 })).rejects.toThrow('it has no key "limit": it takes none');
});

describe('tenants', () => {
  it('are made, found, changed, put to rest and deleted', async () => {
    const { tenant } = runtime.admin;
    const settings = { default_tier: 'pro', monthly_cost_limit_usd: '20' };
    const made = await tenant.create({ name: 'Acme', settings });
    expect(made).toEqual({
      id: expect.any(String) as string,
      name: 'Acme',
      is_active: true,
      settings,
      tools: 0,
      mcp_servers: 0,
      spent_this_month_usd: '0',
    });
    const tenantId = made.id;
    expect(await tenant.get({ tenantId })).toEqual(made);
    for (const filter of ['acm', tenantId.slice(0, 9), tenantId]) {
      expect((await tenant.list({ filter })).tenants).toEqual([made]);
    }
    const changed = await tenant.update({
      tenantId,
      name: 'Acme 2',
      settings: { default_tier: null, max_tier: 'expert' },
    });
    expect(changed).toMatchObject({ name: 'Acme 2', settings: { monthly_cost_limit_usd: '20', max_tier: 'expert' } });
    expect(changed.settings).not.toHaveProperty('default_tier');
    await refuses(tenant.delete({ tenantId }), 'TENANT_ACTIVE');
    expect(await tenant.deactivate({ tenantId })).toMatchObject({ is_active: false });
    expect((await tenant.list({ active: false })).tenants).toHaveLength(1);
    expect(await tenant.delete({ tenantId })).toEqual({ tenant_id: tenantId, deleted: true });
    await refuses(tenant.get({ tenantId }), 'TENANT_NOT_FOUND');
  });

  it('come page by page, each once', async () => {
    const { tenant } = runtime.admin;
    for (const name of ['b', 'a', 'c', 'a']) await tenant.create({ name });
    const names: string[] = [];
    let after: string | null | undefined;
    do {
      const page = await tenant.list({ limit: 3, ...(after == null ? {} : { after }) });
      names.push(...page.tenants.map(({ name }) => name));
      after = page.next;
    } while (after !== null);
    expect(names).toEqual(['a', 'a', 'b', 'c']);
  });

  it('are given settings that a run can read, or none', async () => {
    const { tenant } = runtime.admin;
    const { id: tenantId } = await tenant.create({ name: 'Acme' });
    const bad: readonly (readonly [object, string])[] = [
      [{ monthly_cost_limit_usd: '' }, 'SETTING_INVALID'],
      [{ monthly_cost_limit: '20' }, 'SETTING_INVALID'],
      [{ max_iterations: 'many' }, 'SETTING_INVALID'],
      [{ runs_per_minute: 0 }, 'SETTING_INVALID'],
      [{ callback_hosts: 'x' }, 'SETTING_INVALID'],
      [{ timezone: 'Mars/Base' }, 'SETTING_INVALID'],
      [{ tell_context: 'yes' }, 'SETTING_INVALID'],
      [{ customer_messages: 'Bye' }, 'SETTING_INVALID'],
      [{ customer_messages: { budget: 'Bye' } }, 'SETTING_INVALID'],
      [{ customer_messages: { failed: 1 } }, 'SETTING_INVALID'],
      [{ mcp_allowed_hosts: ['a b'] }, 'SETTING_INVALID'],
      [{ default_tier: 'gold' }, 'TIER_UNKNOWN'],
      [{ max_tier: 'gold' }, 'TIER_UNKNOWN'],
      [{ tool_config: { enabled_tool: [] } }, 'POLICY_INVALID'],
    ];
    for (const [settings, code] of bad) {
      await refuses(tenant.create({ name: 'Other', settings: settings as never }), code);
      await refuses(tenant.update({ tenantId, settings: settings as never }), code);
    }
    await refuses(tenant.create({ name: 'Other', id: tenantId }), 'TENANT_EXISTS');
    await refuses(tenant.create({ name: 'Other', tools: ['find_ordrs'] }), 'TOOL_UNKNOWN');
    await refuses(tenant.create({ name: ' ' }), 'ADMIN_INPUT_INVALID');
  });

  it('are created or updated by one call, which can be repeated and made by several processes at once', async () => {
    const { tenant, tool } = runtime.admin;
    await tool.create(ORDERS);
    const given = { name: 'Acme', tools: ['find_orders'], settings: { default_tier: 'pro' } };
    const made = await Promise.all(Array.from({ length: 5 }, () => tenant.set(given)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    const [{ id } = { id: '' }] = made;
    await tool.disable({ tenantId: id, code: 'find_orders' });
    expect(await tenant.set({ ...given, settings: { monthly_cost_limit_usd: '5' } })).toMatchObject({
      id,
      tools: 1,
      settings: { default_tier: 'pro', monthly_cost_limit_usd: '5' },
    });
    expect(await tenant.set({ id, name: 'Acme Bikes' })).toMatchObject({ id, name: 'Acme Bikes', tools: 1 });
    await refuses(tenant.set({ name: 'Acme Bikes', settings: { max_tier: 'gold' } }), 'TIER_UNKNOWN');
    await refuses(tenant.set({ name: 'New', tools: ['find_ordrs'] }), 'TOOL_UNKNOWN');
    await tenant.create({ name: 'Acme Bikes' });
    await refuses(tenant.set({ name: 'Acme Bikes' }), 'TENANT_AMBIGUOUS');
    expect((await tenant.list()).tenants.map(({ name }) => name)).toEqual(['Acme Bikes', 'Acme Bikes']);
  });

  it('keep what other programs wrote into their settings, to the last digit', async () => {
    const { tenant } = runtime.admin;
    const { id: tenantId } = await tenant.create({ name: 'Acme' });
    await database.query(`UPDATE elo_t_tenants SET settings = '{"theirs": 12345678901234567890.123456789}'`);
    await tenant.update({ tenantId, settings: { default_tier: 'pro' } });
    const [row] = await database.query<{ settings: string }>('SELECT settings::text FROM elo_t_tenants');
    expect(row?.settings).toContain('12345678901234567890.123456789');
  });
});

describe('tools', () => {
  it('are made from a form, given to a tenant, limited, taken and deleted', async () => {
    const { tool, tenant } = runtime.admin;
    const { id: tenantId } = await tenant.create({ name: 'Acme' });
    expect(await tool.create(ORDERS)).toMatchObject({
      code: 'find_orders',
      transport: 'hook',
      auth_header: null,
      tenants: 0,
      parameters_schema: {
        type: 'object',
        properties: { customer: { type: 'string' } },
        required: ['customer'],
        additionalProperties: false,
      },
    });
    await tool.enable({ tenantId, code: 'find_orders' });
    await tool.enable({ tenantId, code: 'find_orders', customConfig: { timeout_ms: 500 } });
    expect(await database.query('SELECT custom_config FROM elo_t_tenant_tools')).toEqual([
      { custom_config: { timeout_ms: 500 } },
    ]);
    const limits = { dailyLimit: 5, permissions: { decision: 'ask' } };
    expect(await tool.setLimits({ tenantId, code: 'find_orders', ...limits })).toEqual({
      code: 'find_orders',
      is_enabled: true,
      usage_limit_daily: 5,
      permissions: { decision: 'ask' },
    });
    expect(await tool.list({ tenantId })).toMatchObject({ tools: [{ name: 'find_orders' }], warnings: [] });
    await refuses(tool.delete({ code: 'find_orders' }), 'TOOL_IN_USE');
    expect(await tool.disable({ tenantId, code: 'find_orders' })).toMatchObject({ is_enabled: false });
    expect(await tool.delete({ code: 'find_orders' })).toEqual({ code: 'find_orders', deleted: true });
    expect(await tool.list()).toEqual({ tools: [], next: null });
  });

  it('are created or updated by one call, which can be repeated', async () => {
    const { tool, tenant } = runtime.admin;
    const { id } = await tenant.create({ name: 'Acme' });
    const made = await tool.set({ ...ORDERS, timeoutMs: 7000 });
    expect(made).toMatchObject({ code: 'find_orders', timeout_ms: 7000, tenants: 0 });
    const changed = { code: 'find_orders', description: 'Find orders', enableFor: [id] };
    expect(await tool.set(changed)).toMatchObject({ description: 'Find orders', timeout_ms: 7000, tenants: 1 });
    expect(await tool.set(changed)).toMatchObject({ tenants: 1 });
    await refuses(tool.set({ ...ORDERS, endpoint: 'ftp://files' }), 'TOOL_INVALID');
  });

  it('are refused when no run could use them', async () => {
    const { tool, tenant } = runtime.admin;
    const { id: tenantId } = await tenant.create({ name: 'Acme' });
    await tool.create(ORDERS);
    const bad: readonly (readonly [object, string])[] = [
      [{ code: 'bad name!' }, 'ADMIN_INPUT_INVALID'],
      [{ transport: 'fax' }, 'ADMIN_INPUT_INVALID'],
      [{ parametersSchema: { type: 'object' } }, 'ADMIN_INPUT_INVALID'],
      [{ endpoint: 'ftp://files' }, 'TOOL_INVALID'],
      [{ endpoint: null }, 'TOOL_INVALID'],
      [{ endpoint: 'http://169.254.169.254/latest' }, 'ADDRESS_FORBIDDEN'],
      [{ fields: undefined, parametersSchema: { type: 'thing' } }, 'TOOL_INVALID'],
      [{ fields: undefined, parametersSchema: { type: 'object', properties: { a: { $ref: '#/x' } } } }, 'TOOL_INVALID'],
      [{ transport: 'builtin', code: 'no_such' }, 'TOOL_INVALID'],
      [{ transportConfig: { methd: 'GET' } }, 'TOOL_INVALID'],
    ];
    for (const [change, code] of bad) {
      await refuses(tool.create({ ...ORDERS, code: 'other', ...change }), code);
    }
    await refuses(tool.create(ORDERS), 'TOOL_EXISTS');
    await refuses(tool.update({ code: 'find_orders', endpoint: 'nowhere' }), 'TOOL_INVALID');
    await refuses(tool.update({ code: 'find_order', name: 'x' }), 'TOOL_UNKNOWN');
    await refuses(tool.enable({ tenantId, code: 'find_orders', customConfig: { timeout: 5 } }), 'TOOL_INVALID');
    await refuses(tool.setLimits({ tenantId, code: 'find_orders', dailyLimit: 1 }), 'TOOL_NOT_GIVEN');
    await tool.enable({ tenantId, code: 'find_orders' });
    const misspelt = { tenantId, code: 'find_orders', permissions: { decison: 'deny' } };
    await refuses(tool.setLimits(misspelt), 'POLICY_INVALID');
  });

  it('are told with the name of their secret, never with its text', async () => {
    const { tool } = runtime.admin;
    expect(await tool.create({ ...ORDERS, authHeader: 'Bearer vault:SHOP' })).toMatchObject({
      auth_header: 'Bearer vault:SHOP',
    });
    const plain = await tool.update({ code: 'find_orders', authHeader: 'Bearer not-for-eyes' });
    expect(plain).toMatchObject({ auth_header: 'plain text' });
    expect(JSON.stringify([plain, await tool.list()])).not.toContain('not-for-eyes');
  });

  it("obey the host's own rules for addresses", async () => {
    const egress = { validateUrl: () => Promise.resolve({ ok: false }), createSecureLookup: () => undefined as never };
    await refuses(runtime.admin.tool.create(ORDERS, { egress }), 'ADDRESS_FORBIDDEN');
  });
});

it('tiers are made and changed, and say what their models cost', async () => {
  const { tier } = runtime.admin;
  const { tiers } = await tier.list();
  expect(tiers.map(({ code }) => code)).toEqual(['nano', 'small', 'optima', 'pro', 'expert']);
  expect(tiers[3]).toMatchObject({
    model_id: 'openai/gpt-4o-mini',
    input_cost_per_1m: '0.15',
    output_cost_per_1m: '0.60',
  });
  await refuses(tier.set({ code: 'gold', name: 'Gold' }), 'ADMIN_INPUT_INVALID');
  await refuses(tier.set({ code: 'pro', temperature: 3 }), 'ADMIN_INPUT_INVALID');
  await refuses(tier.set({ code: 'pro', toolConfig: { enabled: [] } }), 'POLICY_INVALID');
  expect(await tier.set({ code: 'gold', modelId: 'a/b', rank: 9 })).toMatchObject({
    name: 'gold',
    is_free: false,
    rank: 9,
  });
  await refuses(tier.set({ code: 'pro', modelSilenceSeconds: 0 }), 'ADMIN_INPUT_INVALID');
  expect(await tier.set({ code: 'pro', temperature: 0.25, modelSilenceSeconds: 90 })).toMatchObject({
    model_id: 'openai/gpt-4o-mini',
    temperature: '0.25',
    model_silence_seconds: 90,
  });
});

it('secrets are set, listed without their values, and deleted', async () => {
  const { secret, tenant } = runtime.admin;
  const { id: tenantId } = await tenant.create({ name: 'Acme' });
  const made = await secret.set({ tenantId, name: 'SHOP', value: 'sk-123456' });
  expect(made).toEqual({ tenant_id: tenantId, name: 'SHOP', key_id: expect.any(String) as string });
  const listed = await secret.list({ tenantId });
  expect(listed.secrets).toMatchObject([{ name: 'SHOP', scope: 'tenant', is_readable: true }]);
  expect(JSON.stringify(listed)).not.toContain('sk-123456');
  expect(await secret.rotate()).toMatchObject({ current: 1, unreadable: [] });
  await refuses(secret.set({ name: 'SHOP', value: 'x' }), 'ADMIN_INPUT_INVALID');
  await refuses(secret.set({ tenantId, name: 'no name', value: 'x' }), 'VAULT_SECRET_INVALID');
  await refuses(secret.list({ tenantId, shared: true }), 'ADMIN_INPUT_INVALID');
  await secret.set({ shared: true, name: 'SHOP', value: 'of-all' });
  expect(await secret.delete({ tenantId, name: 'SHOP' })).toMatchObject({ removed: true });
  expect((await secret.list({ tenantId })).secrets).toMatchObject([{ name: 'SHOP', scope: 'shared' }]);
  await refuses(secret.delete({ tenantId, name: 'SHOP' }), 'VAULT_SECRET_UNKNOWN');
});

it('MCP servers are added, listed without credentials, and forgotten with their last tenant', async () => {
  const { mcpServer, tenant, oauthLogin } = runtime.admin;
  const [{ id: tenantId }, { id: other }] = [await tenant.create({ name: 'a' }), await tenant.create({ name: 'b' })];
  const server = { name: 'shop', url: 'http://127.0.0.1:9/mcp', auth: { kind: 'bearer', token: 'not-for-eyes' } };
  for (const id of [tenantId, other]) await mcpServer.add({ tenantId: id, ...server });
  const listed = await mcpServer.list({ tenantId });
  expect(listed.servers).toMatchObject([
    { server: 'shop', auth: 'bearer', has_login: false, tools: 0, quarantined: 0 },
  ]);
  expect(JSON.stringify(listed)).not.toContain('not-for-eyes');
  expect(await mcpServer.health({ tenantId })).toMatchObject({ servers: [{ server: 'shop', state: 'down' }] });
  expect(await mcpServer.disconnect({ tenantId })).toEqual({ disconnected: ['shop'] });
  await refuses(mcpServer.add({ tenantId, ...server, url: 'http://127.0.0.1:10/mcp' }), 'MCP_SERVER_EXISTS');
  await refuses(mcpServer.add({ tenantId, ...server, auth: { kind: 'bearr' } }), 'MCP_SERVER_INVALID');
  await refuses(mcpServer.add({ tenantId, name: 'x', url: 'http://169.254.169.254/' }), 'ADDRESS_FORBIDDEN');
  await database.query(`UPDATE elo_t_tenant_mcp_servers SET oauth_state = 'x.y' WHERE tenant_id = $1`, [tenantId]);
  expect((await oauthLogin.list({ tenantId })).logins).toMatchObject([{ server: 'shop', is_readable: false }]);
  expect(await oauthLogin.revoke({ tenantId, server: 'shop' })).toEqual({ server: 'shop', revoked: true });
  await refuses(oauthLogin.revoke({ tenantId, server: 'shop' }), 'LOGIN_UNKNOWN');
  await mcpServer.remove({ tenantId, server: 'shop' });
  expect(await database.query('SELECT code FROM elo_agent_mcp_servers')).toHaveLength(1);
  await mcpServer.remove({ tenantId: other, server: 'shop' });
  expect(await database.query('SELECT code FROM elo_agent_mcp_servers')).toHaveLength(0);
  await refuses(mcpServer.remove({ tenantId, server: 'shop' }), 'MCP_SERVER_UNKNOWN');
});

describe('diagnostics', () => {
  it('tell a healthy installation, and one with a server that is down', async () => {
    const { diagnostics, tool, tenant } = runtime.admin;
    await database.query(`UPDATE elo_agent_tiers SET model_id = 'openai/gpt-4o-mini'`);
    expect(await diagnostics.summary()).toMatchObject({ overall_status: 'HEALTHY', failed_components: [] });
    const { id: tenantId } = await tenant.create({ name: 'Acme' });
    await tool.create({ ...ORDERS, endpoint: 'http://127.0.0.1:9/orders' });
    await tool.enable({ tenantId, code: 'find_orders' });
    const failed = [{ component: 'tool server 127.0.0.1:9', code: 'SERVER_UNREACHABLE' }];
    const summary = await diagnostics.summary();
    expect(summary).toMatchObject({ overall_status: 'DEGRADED', failed_components: failed });
    expect(summary.recommended_actions).toEqual([expect.stringContaining('Check that it is running')]);
  });

  it('tell a database that is empty, and one that is not there', async () => {
    const empty = await createDatabase();
    const bare = createRuntime({ database: { url: empty.url }, model: {} });
    const failed = [{ component: 'schema', code: 'DB_SCHEMA_MISSING' }];
    expect(await bare.admin.diagnostics.summary()).toMatchObject({
      overall_status: 'CRITICAL',
      failed_components: failed,
    });
    expect((await bare.admin.diagnostics.prepareDatabase()).applied.length).toBeGreaterThan(0);
    expect(await bare.admin.diagnostics.schema()).toMatchObject({ isReady: true });
    expect((await bare.admin.diagnostics.addDemoTenant()).tenants[0]?.tools).toContain('find_orders');
    await bare.close();
    await empty.close();
    const lost = createRuntime({ database: { url: 'postgres://x:y@127.0.0.1:9/z' }, model: {} });
    expect(await lost.admin.diagnostics.summary()).toMatchObject({ overall_status: 'CRITICAL' });
    await lost.close();
  });
});

it('usage is summed by hand-worked lines, and exported without a formula in it', async () => {
  const { usage, tenant } = runtime.admin;
  const [{ id: one }, { id: other }] = [await tenant.create({ name: 'one' }), await tenant.create({ name: 'other' })];
  const line = (id: string, task: string, more: readonly [string, number, string]): Promise<unknown> =>
    database.query(
      `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, agent_tier, prompt_tokens, completion_tokens, total_tokens, cost_usd, created_at)
       VALUES ($1, $2, $3, 'pro', 10, 5, 15, $4, $5::timestamptz)`,
      [id, task, ...more],
    );
  await line(one, '=1+1', ['a/b', 0.1, '2026-01-31T23:59:59Z']);
  await line(one, 't2', ['a/b', 0.2, '2026-02-01T00:00:00Z']);
  await line(other, 't3', ['c/d', 0.3, '2026-02-02T12:00:00Z']);
  const cost = ({ total_cost_usd }: object & { readonly total_cost_usd?: unknown }): unknown => total_cost_usd;
  const byMonth = (await usage.summary({ by: ['month'] })).usage;
  expect(byMonth.map((row) => [row.month, row.request_count, cost(row)])).toEqual([
    ['2026-02', 2, '0.50000000'],
    ['2026-01', 1, '0.10000000'],
  ]);
  const ofOne = (await usage.summary({ tenantId: one, by: ['tenant', 'day'], from: '2026-02-01' })).usage;
  expect(ofOne).toMatchObject([{ tenant_id: one, day: '2026-02-01', total_tokens: '15' }]);
  expect((await usage.topSpenders()).spenders).toMatchObject([
    { tenant: expect.any(String) as string, total_cost_usd: '0.30000000', share_percent: '50.00' },
    { total_cost_usd: '0.30000000', share_percent: '50.00' },
  ]);
  const { text } = await usage.export({ tenantId: one, until: '2026-02-01' });
  expect(text.split('\r\n')).toHaveLength(3);
  expect(text).toContain(`,"'=1+1",`);
  expect(JSON.parse((await usage.export({ format: 'json' })).text)).toHaveLength(3);
  await refuses(usage.summary({ by: ['week' as 'day'] }), 'ADMIN_INPUT_INVALID');
  await refuses(usage.summary({ from: '2026-02-31' }), 'ADMIN_INPUT_INVALID');
  await refuses(usage.summary({ tenantId: '00000000-0000-4000-8000-000000000000' }), 'TENANT_NOT_FOUND');
});

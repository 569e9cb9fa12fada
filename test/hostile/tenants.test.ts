import '../support/setup/errors-of-node';

import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import { addMcpServer, addTenant, addTool, enableTool, giveTool, useMcpServer } from '../support/servers/database';
import { sendJson } from '../support/servers/http-server';
import { startMcpServer } from '../support/servers/mcp-server';
import { textReply, toolReply } from '../support/servers/model-server';
import { aTask, failureOf } from '../support/values/agent-fixture';
import { type Attack, callReply, hostileWorld, told, toldCodes, warned } from '../support/worlds/hostile-world';
import { createSqlRole, dropRole } from '../support/worlds/sql-role';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');
const database = () => world.fixture().database;

const TABLES = ['elo_agent_runs', 'elo_agent_model_calls', 'elo_t_token_usage', 'elo_tool_executions'];
async function countRows(): Promise<number[]> {
  return Promise.all(
    TABLES.map(async (table) => {
      const [row] = await database().query<{ count: string }>(`SELECT count(*) FROM ${table}`);
      return Number(row?.count);
    }),
  );
}

describe('the tenant of a task', () => {
  const unknown = randomUUID();

  it.each([
    ['SQL', "' OR 1=1--", 'TENANT_ID_INVALID'],
    ['SQL behind an id', `${unknown}'; DROP TABLE elo_t_tenants;--`, 'TENANT_ID_INVALID'],
    ['a line break behind an id', `${unknown}\n' OR '1'='1`, 'TENANT_ID_INVALID'],
    ['NUL', 'a\0b', 'INPUT_INVALID'],
    ['NUL behind an id', `${unknown}\0`, 'INPUT_INVALID'],
    ['half a character', '\ud800', 'INPUT_INVALID'],
    ['a megabyte', 'x'.repeat(1_000_000), 'TENANT_ID_INVALID'],
    ['the prototype', '__proto__', 'TENANT_ID_INVALID'],
    ['a wildcard', '%', 'TENANT_ID_INVALID'],
    ['the empty text', '', 'TENANT_ID_INVALID'],
    ['digits of another alphabet', unknown.replace(/\d/g, '٣'), 'TENANT_ID_INVALID'],
    ['a list', [unknown], 'INPUT_INVALID'],
    ['an object', { toString: unknown }, 'INPUT_INVALID'],
    ['null', null, 'INPUT_INVALID'],
    ['true', true, 'INPUT_INVALID'],
    ['the number 1', 1, 'TENANT_ID_INVALID'],
    ['an id that nobody has', unknown, 'TENANT_NOT_FOUND'],
    ['the id of nobody', '00000000-0000-0000-0000-000000000000', 'TENANT_NOT_FOUND'],
  ])('case 26: %s as tenant id is refused, and nothing is called, claimed or billed', async (_what, tenantId, code) => {
    const before = { calls: world.modelCalls(), rows: await countRows() };
    const error = await failureOf(world.fixture().runtime.run(aTask(tenantId as string)));
    expect(error).toMatchObject({ code, retryable: false, result: undefined });
    expect(error.message.length).toBeLessThan(300);
    expect({ calls: world.modelCalls(), rows: await countRows() }).toEqual(before);
    expect(await database().query('SELECT 1 FROM elo_t_tenants LIMIT 1')).toHaveLength(1);
  });

  it('case 26: a task id of another tenant is a task of its own: nothing of the other comes back or is changed', async () => {
    const first = await attack({ replies: [textReply('Secret of the first')] });
    const second = await addTenant(database());
    world.fixture().models.script(textReply('Own answer'));
    const result = await world.fixture().runtime.run(aTask(second, {}, first.taskId));
    expect(result.result.text).toBe('Own answer');
    const lines = await database().query('SELECT tenant_id FROM elo_t_token_usage WHERE task_id = $1 ORDER BY id', [
      first.taskId,
    ]);
    expect(lines).toEqual([{ tenant_id: first.tenantId }, { tenant_id: second }]);
  });

  it("case 26: an approval for another tenant's run is one for a run that does not exist", async () => {
    const waiting = await attack({
      tools: [{ code: 'pay' }],
      settings: { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } },
      replies: [toolReply([{ name: 'pay' }])],
    });
    expect(waiting.result?.status).toBe('awaiting_input');
    const stranger = await attack({
      config: { approval: { run_id: waiting.result?.run_id, decision: 'approve' } },
      replies: [DONE],
    });
    expect(stranger.error).toMatchObject({ code: 'APPROVAL_UNKNOWN' });
    expect([stranger.sent, stranger.executed]).toEqual([[], []]);
    expect(await world.fixture().runRow(waiting.taskId)).toMatchObject({ state: 'waiting' });
  });

  it('case 26: row-level security is a second wall: a role without a tenant sees nothing, with one only its own', async () => {
    const [one, other] = [await attack({ replies: [DONE] }), await attack({ replies: [DONE] })];
    const role = await createSqlRole(database());
    const client = new Client({ connectionString: role.url });
    await client.connect();
    const seen = async (sql: string): Promise<unknown[]> => (await client.query<Record<string, unknown>>(sql)).rows;
    try {
      expect(await seen('SELECT task_id FROM elo_t_token_usage')).toEqual([]);
      await client.query("SELECT set_config('app.tenant_id', $1, false)", [one.tenantId]);
      expect(await seen('SELECT task_id FROM elo_t_token_usage')).toEqual([{ task_id: one.taskId }]);
      expect(await seen('SELECT id FROM elo_t_tenants')).toEqual([{ id: one.tenantId }]);
      expect(
        await seen(`SELECT task_id FROM elo_t_token_usage WHERE tenant_id = '${other.tenantId}' OR 1=1`),
      ).toHaveLength(1);
      await client.query("SELECT set_config('app.tenant_id', $1, false)", ["' OR 1=1--"]);
      await expect(seen('SELECT task_id FROM elo_t_token_usage')).rejects.toThrow('uuid');
    } finally {
      await client.end();
      await dropRole(database(), role.name);
    }
  });
});

describe('two tenants with the same addresses', () => {
  it('case 27: one tool, one address, two tokens: each run has its own, warm or cold, alone or together', async () => {
    const toolId = await addTool(database(), { code: 'stock', endpoint: `${world.hooks().url}/stock` });
    const tenants = await Promise.all([addTenant(database()), addTenant(database())]);
    const tokenOf = (tenantId: string): string => `Key token-of-${tenantId}`;
    for (const tenantId of tenants) {
      await enableTool(database(), {
        tenantId,
        toolId,
        customConfig: { auth_header: tokenOf(tenantId), description: `Of ${tenantId}` },
      });
    }
    // Says its token out loud, and that of the other.
    world.answer(({ headers }, response) =>
      sendJson(response, { got: headers.authorization, all: tenants.map(tokenOf) }),
    );
    world
      .fixture()
      .models.always((request) =>
        request.messages.some(({ role }) => role === 'tool') ? DONE.body : toolReply([{ name: 'stock' }]).body,
      );
    world.fixture().models.script();
    const runtime = world.aRuntime();
    const before = { requests: world.hooks().requests.length, sent: world.modelCalls() };
    const run = async (tenantId: string): Promise<void> => {
      const { result } = await runtime.run(aTask(tenantId));
      // The redactor blanks the tenant's own token: that of the other is none of its secrets, and was never its to send.
      const other = tokenOf(tenants.find((id) => id !== tenantId) ?? '');
      expect(result.tool_calls.map((call) => call.result)).toEqual([
        { got: '[redacted]', all: tenants.map((id) => (id === tenantId ? '[redacted]' : other)) },
      ]);
    };
    for (const tenantId of [...tenants, ...tenants]) await run(tenantId);
    await Promise.all(Array.from({ length: 20 }, (_, n) => run(tenants[n % 2] ?? '')));
    for (const { body, headers } of world.hooks().requests.slice(before.requests)) {
      expect(headers.authorization).toBe(tokenOf((JSON.parse(body) as { tenant_id: string }).tenant_id));
    }
    for (const { tools = [], messages } of world.fixture().models.received.slice(before.sent)) {
      expect(tools).toHaveLength(1);
      expect(tenants.map((id) => `Of ${id}`)).toContain(tools[0]?.function.description);
      expect(messages).toBeDefined();
    }
  });

  it('case 27: a token that is changed holds from the next run on, for this tenant only', async () => {
    const toolId = await addTool(database(), { code: 'stock', endpoint: `${world.hooks().url}/stock` });
    const tenants = await Promise.all([addTenant(database()), addTenant(database())]);
    for (const tenantId of tenants) {
      await enableTool(database(), { tenantId, toolId, customConfig: { auth_header: 'Bearer the-old-one' } });
    }
    const replies = [toolReply([{ name: 'stock' }]), DONE];
    const tokens = async (): Promise<(string | undefined)[]> => {
      const [a, b] = [await attack({ tenantId: tenants[0], replies }), await attack({ tenantId: tenants[1], replies })];
      return [...a.executed, ...b.executed].map(({ authorization }) => authorization);
    };
    expect(await tokens()).toEqual(['Bearer the-old-one', 'Bearer the-old-one']);
    await database().query(
      `UPDATE elo_t_tenant_tools SET custom_config = '{"auth_header": "Bearer the-new-one"}' WHERE tenant_id = $1`,
      [tenants[0]],
    );
    expect(await tokens()).toEqual(['Bearer the-new-one', 'Bearer the-old-one']);
  });

  it('case 27: one MCP server, two tokens: lists, connections and calls are of the tenant whose token they have', async () => {
    const server = await startMcpServer({
      tools: ({ authorization = '' }) => [{ name: `of_${authorization.slice(-1)}`, description: 'Own' }],
      answer: ({ headers }) => ({ content: [{ type: 'text', text: `for ${headers.authorization?.slice(-1)}` }] }),
    });
    const serverId = await addMcpServer(database(), { code: 'shared', url: server.url });
    const tenants = await Promise.all([addTenant(database()), addTenant(database())]);
    for (const [index, tenantId] of tenants.entries()) {
      await useMcpServer(database(), { tenantId, serverId, auth: { kind: 'bearer', token: `secret-token-${index}` } });
    }
    const runtime = world.aRuntime();
    for (const index of [0, 1, 1, 0, 0, 1]) {
      const name = `shared_of_${index}`;
      const aftermath = await attack({
        tenantId: tenants[index],
        runtime,
        replies: [toolReply([{ name }, { name: `shared_of_${1 - index}` }]), DONE],
      });
      expect(aftermath.sent[0]?.tools?.map((tool) => tool.function.name)).toEqual([name]);
      expect(toldCodes(aftermath)).toEqual([undefined, 'TOOL_NOT_FOUND']);
      expect(told(aftermath)[0]).toBe(`"for ${index}"`);
    }
    await server.close();
    expect(new Set(server.calls.map(({ name, headers }) => `${name} ${headers.authorization}`))).toEqual(
      new Set(['of_0 Bearer secret-token-0', 'of_1 Bearer secret-token-1']),
    );
  });

  it('case 27: one MCP server, one token: no tenant goes over the connection of another, nor over that of an old token', async () => {
    const server = await startMcpServer({
      tools: () => [{ name: 'tell', description: 'Tells' }],
      answer: ({ headers }) => ({ content: [{ type: 'text', text: `by ${headers.authorization?.slice(-3)}` }] }),
    });
    const serverId = await addMcpServer(database(), { code: 'shared', url: server.url });
    const tenants = await Promise.all([addTenant(database()), addTenant(database())]);
    for (const tenantId of tenants) {
      await useMcpServer(database(), { tenantId, serverId, auth: { kind: 'bearer', token: 'secret-token-old' } });
    }
    const runtime = world.aRuntime();
    const replies = [toolReply([{ name: 'shared_tell' }]), DONE];
    const tell = async (index: number): Promise<string | undefined> =>
      told(await attack({ tenantId: tenants[index], runtime, replies }))[0];
    expect([await tell(0), await tell(1), await tell(0)]).toEqual(['"by old"', '"by old"', '"by old"']);
    const sessions = server.calls.map(({ headers }) => headers['mcp-session-id']);
    expect([sessions[0] === sessions[1], sessions[0] === sessions[2]]).toEqual([false, true]);
    await database().query(
      `UPDATE elo_t_tenant_mcp_servers SET auth = '{"kind": "bearer", "token": "secret-token-new"}' WHERE tenant_id = $1`,
      [tenants[0]],
    );
    expect([await tell(0), await tell(1)]).toEqual(['"by new"', '"by old"']);
    await server.close();
  });

  it('case 27: what one task of a tenant was allowed is not what the next one has', async () => {
    const tenantId = await addTenant(database());
    for (const code of ['stock', 'pay']) await giveTool(database(), tenantId, { code, endpoint: world.hooks().url });
    const rules: [object, string[]][] = [
      [{}, ['stock', 'pay']],
      [{ tools: ['stock'] }, ['stock']],
      [{ disabled_tools: ['stock'] }, ['pay']],
      [{ tools: [] }, []],
      [{ tool_permissions: { stock: { decision: 'deny' } } }, ['pay']],
    ];
    for (const [config, names] of [...rules, ...rules.toReversed()]) {
      const { sent } = await attack({ tenantId, config: { ...config }, replies: [DONE] });
      expect((sent[0]?.tools ?? []).map((tool) => tool.function.name)).toEqual(names);
    }
  });

  it("case 27: a tenant's rules do not become those of the other, whose rows are the same", async () => {
    const toolId = await addTool(database(), { code: 'stock', endpoint: `${world.hooks().url}/stock` });
    const strict = await addTenant(database(), { settings: { tool_config: { disabled_tools: ['stock'] } } });
    const free = await addTenant(database());
    for (const tenantId of [strict, free]) await enableTool(database(), { tenantId, toolId });
    const replies = [toolReply([{ name: 'stock' }]), DONE];
    for (const tenantId of [free, strict, free, strict]) {
      const aftermath = await attack({ tenantId, replies });
      expect(aftermath.executed).toHaveLength(tenantId === free ? 1 : 0);
      expect(toldCodes(aftermath)).toEqual([tenantId === free ? undefined : 'TOOL_NOT_FOUND']);
    }
  });
});

describe('custom_config', () => {
  /** Puts JSON into the row as it is written, which an object of ours could not hold. */
  async function withCustomConfig(text: string): Promise<Attack> {
    const tenantId = await addTenant(database());
    const toolId = await giveTool(database(), tenantId, {
      code: 'stock',
      endpoint: `${world.hooks().url}/stock`,
      authHeader: 'Bearer own',
    });
    await database().query('UPDATE elo_t_tenant_tools SET custom_config = $2::jsonb WHERE tenant_id = $1', [
      tenantId,
      text,
    ]);
    expect(toolId).toBeGreaterThan(0);
    return { tenantId, replies: [callReply('stock', '{"a":1}'), DONE] };
  }

  it.each([
    ['__proto__', '{"__proto__": {"auth_header": "Bearer evil", "mcp_endpoint": "http://evil/", "polluted": 1}}'],
    ['constructor', '{"constructor": {"prototype": {"polluted": 1, "auth_header": "Bearer evil"}}}'],
    ['headers of the prototype', '{"headers": {"__proto__": "evil", "constructor": "evil", "x-ok": "1"}}'],
    [
      'a prototype within transport_config',
      '{"transport_config": {"__proto__": {"method": "DELETE"}, "constructor": 1}}',
    ],
  ])('case 28: with %s changes neither the call nor any object', async (_what, text) => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    const { executed, result } = await attack(await withCustomConfig(text));
    expect(executed).toMatchObject([{ path: '/stock', arguments: { a: 1 }, authorization: 'Bearer own' }]);
    expect(result?.status).toBe('completed');
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('case 28: with a prototype within rules leaves the tool out, and changes no object', async () => {
    const text = '{"permissions": {"__proto__": {"decision": "deny"}, "limits": {"__proto__": {"max": 0}}}}';
    const { executed, result } = await attack(await withCustomConfig(text));
    expect(executed).toEqual([]);
    expect(result?.warnings.map(({ code }) => code)).toContain('TOOL_SKIPPED');
    expect(({} as { decision?: unknown }).decision).toBeUndefined();
  });

  it.each([
    ['beside what is read', (deep: string) => `{"extra": ${deep}}`],
    ['in the headers', (deep: string) => `{"headers": {"x": ${deep}}}`],
    ['in the rules', (deep: string) => `{"permissions": {"fixed_arguments": {"x": ${deep}}}}`],
    ['in the transport', (deep: string) => `{"transport_config": {"body": ${deep}}}`],
  ])('case 28: nested thousands of levels %s ends no run, and harms no other tool', async (_what, build) => {
    const levels = 4000;
    const given = await withCustomConfig(build('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)));
    await giveTool(database(), given.tenantId ?? '', { code: 'fine', endpoint: `${world.hooks().url}/fine` });
    const aftermath = await attack({ ...given, replies: [toolReply([{ name: 'stock' }, { name: 'fine' }]), DONE] });
    expect(aftermath.result).toMatchObject({ status: 'completed' });
    expect(aftermath.state).toBe('done');
    expect(aftermath.executed.map(({ tool }) => tool)).toContain('fine');
    // Either it is offered as if the nonsense were not there, or it says why it is not.
    const isOffered = aftermath.executed.length === 2;
    expect(warned(aftermath)).toEqual(isOffered ? [] : ['TOOL_SKIPPED']);
  });
});

describe('an empty allow-list', () => {
  const tools = [{ code: 'stock' }, { code: 'pay' }];
  const none = { enabled_tools: [] };

  it.each<[string, Attack]>([
    ['of the tenant', { tools, settings: { tool_config: none } }],
    ['of the agent', { tools, settings: { tool_config: { agents: { sales: none } } }, config: { agent: 'sales' } }],
    ['of the task', { tools, config: { tools: [] } }],
    ['of tiers, on each tool', { tools: tools.map((tool) => ({ ...tool, allowedTiers: [] })) }],
    [
      'of the tenant, against one of the task',
      { tools, settings: { tool_config: none }, config: { tools: ['stock', 'pay'] } },
    ],
    [
      'of the task, against one of the tenant',
      { tools, settings: { tool_config: { enabled_tools: ['*'] } }, config: { tools: [] } },
    ],
  ])('case 31: %s means none', async (_what, given) => {
    const { sent, executed, ...rest } = await attack({
      ...given,
      replies: [toolReply([{ name: 'stock' }, { name: 'pay' }]), DONE],
    });
    expect(sent[0]).not.toHaveProperty('tools');
    expect(executed).toEqual([]);
    expect(toldCodes({ sent })).toEqual(['TOOL_NOT_FOUND', 'TOOL_NOT_FOUND']);
    expect(rest.result).toMatchObject({ status: 'completed' });
  });

  it('case 31: of the tier means none', async () => {
    const set = (config: object | null) =>
      database().query(`UPDATE elo_agent_tiers SET tool_config = $1 WHERE code = 'pro'`, [config]);
    await set(none);
    const { sent, executed } = await attack({ tools, replies: [toolReply([{ name: 'stock' }]), DONE] }).finally(() =>
      set(null),
    );
    expect(sent[0]).not.toHaveProperty('tools');
    expect(executed).toEqual([]);
  });

  it('case 31: of an MCP server means none of its tools', async () => {
    const server = await startMcpServer({ tools: () => [{ name: 'pay' }], answer: () => ({ content: [] }) });
    const tenantId = await addTenant(database());
    const serverId = await addMcpServer(database(), { code: 'bank', url: server.url, includeTools: [] });
    await useMcpServer(database(), { tenantId, serverId });
    const { sent } = await attack({ tenantId, replies: [toolReply([{ name: 'bank_pay' }]), DONE] });
    await server.close();
    expect(sent[0]).not.toHaveProperty('tools');
    expect(toldCodes({ sent })).toEqual(['TOOL_NOT_FOUND']);
    expect(server.calls).toEqual([]);
  });

  it('case 31: of patterns means that no value is allowed', async () => {
    const aftermath = await attack({
      tools: [{ code: 'stock' }],
      settings: { tool_config: { tool_permissions: { stock: { allowed_patterns: { q: [] } } } } },
      replies: [callReply('stock', '{"q":"x"}'), DONE],
    });
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_PERMISSION_DENIED']);
  });
});

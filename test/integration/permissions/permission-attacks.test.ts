import type { AgentResult, Tool } from '../../../runtime';
import { allowedTools } from '../../../runtime/permissions/allowed-tools';
import { readToolRules } from '../../../runtime/permissions/read-tool-rules';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let sent: unknown[] = [];
const sendTool: Tool = {
  ...echoTool,
  definition: {
    name: 'send',
    description: 'Sends',
    inputSchema: {
      type: 'object',
      properties: {
        count: { type: 'number' },
        to: {},
        'page.size': { type: 'number' },
        filter: {},
        secret: { type: 'string' },
      },
    },
  },
  execute: (input) => {
    sent.push(input);
    return Promise.resolve({ isError: false, value: sent.length });
  },
};
/** Does not heed the signal. */
const slowTool: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'slow' },
  execute: async () => {
    await new Promise(() => undefined);
    return { isError: false, value: 'never' };
  },
};

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [sendTool, slowTool] }));
});
beforeEach(() => {
  sent = [];
});
afterAll(() => fixture.close());

const tenantWith = (permissions: object) =>
  addTenant(fixture.database, { settings: { tool_config: { tool_permissions: permissions } } });
const setRules = (tenantId: string, permissions: object) =>
  fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
    tenantId,
    JSON.stringify({ tool_config: { tool_permissions: permissions } }),
  ]);
const after =
  (change: () => Promise<unknown>, reply: { readonly body: unknown }): ScriptedReply =>
  async (_request, response) => {
    await change();
    sendJson(response, reply.body);
  };
const codes = (result: AgentResult) =>
  result.result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code);
async function send(permission: object, input: object, config: object = {}): Promise<AgentResult> {
  const tenantId = await tenantWith({ send: permission });
  fixture.models.script(toolReply([{ name: 'send', arguments: input }]), textReply('Done'));
  return fixture.runtime.run(aTask(tenantId, { ...config }));
}

describe('what one level fixes', () => {
  it('is held to the limits of the others', async () => {
    const fixed = { tool_permissions: { send: { fixed_arguments: { count: 1e6 } } } };
    await send({ limits: { count: { max: 10 } } }, {}, fixed);
    expect(sent).toEqual([{ count: 10 }]);
  });

  it.each([{ to: '+7 900' }, { to: ['+55 1', '+7 900'] }])(
    'is held to the patterns of the others: %j',
    async (value) => {
      const fixed = { tool_permissions: { send: { fixed_arguments: value } } };
      const result = await send({ allowed_patterns: { to: ['+55*'] } }, {}, fixed);
      expect([codes(result), sent]).toEqual([['TOOL_PERMISSION_DENIED'], []]);
      expect(JSON.stringify(result)).not.toContain('7 900');
    },
  );

  it('may be an argument that the tool does not declare, beside rules for others', async () => {
    await send({ limits: { count: { max: 10 } }, fixed_arguments: { trace: 'on' } }, { count: 3 });
    expect(sent).toEqual([{ count: 3, trace: 'on' }]);
  });
});

describe('a rule for an argument within another', () => {
  it.each([
    { filter: [{ phone: '+55 1' }, { phone: '+7 900' }] },
    { filter: [[{ phone: '+7 900' }]] },
    { filter: '{"phone": "+7 900"}' },
    { filter: { phone: ['+7 900'] } },
    { filter: 5 },
  ])('is not gone around by another shape: %j', async (input) => {
    const result = await send({ allowed_patterns: { 'filter.phone': ['+55*'] } }, input);
    expect([codes(result), sent]).toEqual([['TOOL_PERMISSION_DENIED'], []]);
  });

  it('limits the numbers of every entry of a list', async () => {
    await send({ limits: { 'filter.size': { max: 5 } } }, { filter: [{ size: 1000 }, { size: 3 }, {}] });
    expect(sent).toEqual([{ filter: [{ size: 5 }, { size: 3 }, { size: 5 }] }]);
  });

  it('is also one for an argument that has the dot in its name', async () => {
    await send({ limits: { 'page.size': { max: 5 } } }, { 'page.size': 1000 });
    await send({ limits: { 'page.size': { max: 5 } } }, {});
    const refused = await send({ limits: { 'filter.size': { max: 5 } } }, { 'filter.size': '1000' });
    expect(sent).toEqual([{ 'page.size': 5 }, { 'page.size': 5 }]);
    expect(codes(refused)).toEqual(['TOOL_PERMISSION_DENIED']);
  });
});

it('a limit does not turn a number beyond 2^53, which may be an id, into another one', async () => {
  const result = await send({ limits: { count: { max: 10 } } }, '{"count": 1e300}' as unknown as object);
  expect([codes(result), sent]).toEqual([['TOOL_PERMISSION_DENIED'], []]);
});

describe('names', () => {
  const servers = (disabled: string[], enabled?: string[]) => {
    const level = readToolRules({ disabled_tools: disabled, enabled_tools: enabled }, 'test');
    const tool = (name: string, alias: string) => ({
      alias,
      formerName: 'git_drop_all',
      tool: { ...echoTool, definition: { ...echoTool.definition, name } },
    });
    // As they are offered once the server has brought about two tools of one name.
    const tools = [tool('git_drop_all_1a2b3c4d', 'git.drop_all'), tool('git_drop_all_5e6f7a8b', 'git.drop.all')];
    return allowedTools(tools, { levels: [level] }).tools.length;
  };

  it('of tools that a server renames by bringing another one about are denied still', () => {
    expect(servers(['git_drop_all'])).toBe(0);
    expect(servers(['git_drop_*'])).toBe(0);
  });

  it('that two tools could have allow neither', () => expect(servers([], ['git_drop_all'])).toBe(0));

  it.each(['/.*/', '/(*/', 'g?t*', '[a-z]*', '.*', '(git*'])('are no regular expressions: %s', (entry) => {
    expect(servers([], [entry])).toBe(0);
  });

  it('with a star call no tool outside a run', async () => {
    const tenantId = await tenantWith({});
    for (const tool of ['*', 's*']) {
      await expect(fixture.runtime.tools.call({ tenantId, tool, arguments: {} })).rejects.toMatchObject({
        code: 'TOOL_NOT_FOUND',
      });
    }
    expect(sent).toEqual([]);
  });
});

it('a call ends at its cap although the tool does not heed the signal', async () => {
  const tenantId = await tenantWith({ slow: { timeout_seconds: 0.2 } });
  fixture.models.script(toolReply([{ name: 'slow' }]), textReply('Done'));
  const result = await fixture.runtime.run(aTask(tenantId));
  expect(codes(result)).toEqual(['TOOL_TIMEOUT']);
});

describe('limits of calls that are set in the middle of a run hold in it', () => {
  const call = (n: number) => toolReply([{ name: 'send', arguments: { count: n } }]);

  it.each([
    ['rate_limit_per_minute', 'TOOL_LIMIT_REACHED'],
    ['rate_limit_per_day', 'TOOL_LIMIT_REACHED'],
    ['max_calls_per_run', 'TOOL_RUN_LIMIT'],
  ])('%s', async (rule, code) => {
    const tenantId = await tenantWith({});
    const change = () => setRules(tenantId, { send: { [rule]: 2 } });
    fixture.models.script(after(change, call(1)), call(2), call(3), call(4), textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId));
    // The first call of a rate is the one after the change was seen.
    expect(codes(result).at(-1)).toBe(code);
    expect(sent.length).toBeLessThanOrEqual(3);
  });

  it('a number that the database cannot count is refused before a model is called', async () => {
    const tenantId = await tenantWith({ send: { rate_limit_per_minute: 1e12 } });
    await expect(fixture.runtime.run(aTask(tenantId))).rejects.toMatchObject({ code: 'POLICY_INVALID' });
  });
});

it('a tool that goes into quarantine in the middle of a run changes the policy', async () => {
  const tenantId = await tenantWith({});
  const [server] = await fixture.database.query<{ id: number }>(
    `INSERT INTO elo_agent_mcp_servers (code, url) VALUES ('q', 'http://127.0.0.1:9') RETURNING id`,
  );
  await fixture.database.query('INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id) VALUES ($1, $2)', [
    tenantId,
    server?.id,
  ]);
  await fixture.database.query(
    `INSERT INTO elo_t_tenant_mcp_tools (tenant_id, server_id, name, description, input_schema, is_repeatable, hash, approved_hash, position)
     VALUES ($1, $2, 't', '', '{}', false, repeat('a', 64), repeat('a', 64), 1)`,
    [tenantId, server?.id],
  );
  const version = () => fixture.database.query('SELECT elo_agent_policy_version($1) AS version', [tenantId]);
  const before = await version();
  await fixture.database.query(`UPDATE elo_t_tenant_mcp_tools SET hash = repeat('b', 64) WHERE tenant_id = $1`, [
    tenantId,
  ]);
  expect(await version()).not.toEqual(before);
});

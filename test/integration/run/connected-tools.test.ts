import type { ConnectedTool, RunOptions } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let hook: TestServer;
beforeAll(async () => {
  fixture = await startAgentFixture();
  hook = await startServer((_request, response) => sendJson(response, { from: 'the database' }));
});
afterAll(async () => {
  await fixture.close();
  await hook.close();
});

const calls: string[] = [];
beforeEach(() => {
  calls.length = 0;
});

function connected(name: string, more: Partial<ConnectedTool> & { readonly inputSchema?: object } = {}): ConnectedTool {
  const { inputSchema = { type: 'object' }, ...rest } = more;
  return {
    definition: { name, description: `What ${name} does`, inputSchema: inputSchema as never },
    call: () => {
      calls.push(name);
      return Promise.resolve(`from ${rest.source ?? 'the host'}`);
    },
    ...rest,
  };
}

const run = (task: unknown, tools: readonly ConnectedTool[], options: RunOptions = {}) =>
  fixture.runtime.run(task, { ...options, connected: { tools } });
const offered = () => fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name) ?? [];
/** Calls one tool, and gives what the model was told of it. */
async function answerOf(tool: ConnectedTool, config: object = {}, given: object = {}): Promise<unknown> {
  fixture.models.script(toolReply([{ name: tool.definition.name, arguments: given }]), textReply('ok'));
  await run(aTask(fixture.tenantId, { ...config }), [tool]);
  return JSON.parse(fixture.models.received.at(-1)?.messages.at(-1)?.content ?? '');
}

describe('names', () => {
  it('are made ones that providers accept', async () => {
    fixture.models.script(textReply('ok'));
    await run(aTask(fixture.tenantId), [connected('größe & preis'), connected('x'.repeat(80)), connected('')]);
    expect(offered()).toEqual(['echo', 'gr__e___preis', expect.stringMatching(/^x{55}_[0-9a-f]{8}$/), containing('_')]);
  });

  it('of two tools are told apart, and each call reaches its own', async () => {
    const tools = [
      connected('find', { source: 'A' }),
      connected('find', { source: 'B' }),
      connected('find', { source: 'B' }),
    ];
    fixture.models.script(textReply('ok'));
    await run(aTask(fixture.tenantId), tools);
    const names = offered().slice(1);
    expect(new Set(names).size).toBe(3);
    fixture.models.script(toolReply(names.map((name) => ({ name }))), textReply('ok'));
    const { result } = await run(aTask(fixture.tenantId), tools);
    expect(result.tool_calls.map((call) => call.result)).toEqual(['from A', 'from B', 'from B']);
  });

  it('leave a tool of the database its own', async () => {
    const tenantId = await addTenant(fixture.database);
    await giveTool(fixture.database, tenantId, { code: 'stock', endpoint: hook.url });
    fixture.models.script(toolReply([{ name: 'stock' }]), textReply('ok'));
    const { result } = await run(aTask(tenantId), [connected('stock')]);
    expect(result.tool_calls).toMatchObject([{ tool: 'stock', result: { from: 'the database' } }]);
    expect(offered()).toEqual(['stock', 'echo', expect.stringMatching(/^stock_[0-9a-f]{8}$/)]);
    expect(calls).toEqual([]);
  });
});

describe('rules', () => {
  it.each([
    ['a deny-list', { disabled_tools: ['find'] }],
    ['an allow-list', { tools: ['echo'] }],
    ['a permission', { tool_permissions: { find: { decision: 'deny' } } }],
  ])('of %s hold', async (_what, config) => {
    fixture.models.script(toolReply([{ name: 'find' }]), textReply('ok'));
    const { result } = await run(aTask(fixture.tenantId, config), [connected('find')]);
    expect(result.tool_calls).toMatchObject([{ error: { code: 'TOOL_NOT_FOUND' } }]);
    expect(offered()).toEqual(['echo']);
    expect(calls).toEqual([]);
  });

  it('that deny a name hold for all tools that wanted it; lists that allow it allow neither', async () => {
    const tools = [connected('find', { source: 'A' }), connected('find', { source: 'B' })];
    for (const config of [{ disabled_tools: ['find'] }, { tools: ['find', 'echo'] }]) {
      fixture.models.script(textReply('ok'));
      await run(aTask(fixture.tenantId, config), tools);
      expect(offered()).toEqual(['echo']);
    }
  });

  it('on arguments hold, and are checked by the schema before', async () => {
    const inputSchema = { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false };
    const tool = connected('pay', { inputSchema, call: (input) => Promise.resolve(input) });
    const rules = { tool_permissions: { pay: { limits: { n: { max: 5 } } } } };
    expect(await answerOf(tool, rules, { n: 9 })).toEqual({ n: 5 });
    expect(await answerOf(tool, rules, { n: 'x' })).toMatchObject({ error: { code: 'TOOL_INVALID_ARGS' } });
    const none = { tool_permissions: { pay: { allowed_patterns: { n: ['a*'] } } } };
    expect(await answerOf(tool, none, { n: 5 })).toMatchObject({ error: { code: 'TOOL_PERMISSION_DENIED' } });
  });

  it('that change during a run hold for the next call', async () => {
    const tenantId = await addTenant(fixture.database);
    const forbid: ScriptedReply = async (_request, response) => {
      await fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
        tenantId,
        JSON.stringify({ tool_config: { disabled_tools: ['find'] } }),
      ]);
      sendJson(response, toolReply([{ name: 'find', arguments: { n: 2 } }]).body);
    };
    fixture.models.script(toolReply([{ name: 'find', arguments: { n: 1 } }]), forbid, textReply('ok'));
    const { result } = await run(aTask(tenantId), [connected('find')]);
    expect(result.tool_calls).toMatchObject([{ result: 'from the host' }, { error: { code: containing('TOOL_') } }]);
    expect(calls).toEqual(['find']);
  });
});

describe('a run', () => {
  it('has the tools that are connected to it, and no other run has them', async () => {
    for (const names of [['one'], ['two'], []]) {
      fixture.models.script(textReply('ok'));
      await run(
        aTask(fixture.tenantId),
        names.map((name) => connected(name)),
      );
      expect(offered()).toEqual(['echo', ...names]);
    }
  });

  it('audits its calls', async () => {
    const task = aTask(fixture.tenantId);
    fixture.models.script(toolReply([{ name: 'find', arguments: { n: 1 } }]), textReply('ok'));
    await run(task, [connected('find')]);
    const audit = 'SELECT tool, decision, arguments FROM elo_tool_executions WHERE task_id = $1';
    expect(await fixture.database.query(audit, [task.task_id])).toEqual([
      { tool: 'find', decision: 'allow', arguments: { n: 1 } },
    ]);
  });

  it('that failed does not make a call again that it has made', async () => {
    const task = aTask(fixture.tenantId);
    const tool = connected('pay');
    fixture.models.script(toolReply([{ name: 'pay' }]), { status: 500, body: { error: { message: 'down' } } });
    await expect(run(task, [tool])).rejects.toMatchObject({ code: 'LLM_UNAVAILABLE' });
    fixture.models.script(textReply('Paid.'));
    expect(await run(task, [tool])).toMatchObject({
      result: { text: 'Paid.', tool_calls: [{ result: 'from the host' }] },
    });
    expect(calls).toEqual(['pay']);
  });

  it('goes on without a tool whose schema is none, and says so', async () => {
    fixture.models.script(textReply('ok'));
    const { warnings } = await run(aTask(fixture.tenantId), [connected('bad', { inputSchema: { type: 'nothing' } })]);
    expect(warnings).toMatchObject([{ code: 'CONNECTED_TOOL_UNUSABLE', message: containing('"bad"') }]);
    expect(offered()).toEqual(['echo']);
  });
});

it.each([[{ type: 'string' }], [{ type: 'array' }], [true as never]])(
  'is not shown the schema %j, for which a provider would refuse everything',
  async (inputSchema: object) => {
    fixture.models.script(textReply('ok'));
    const { warnings } = await run(aTask(fixture.tenantId), [connected('bad', { inputSchema })]);
    expect(warnings).toMatchObject([{ code: 'CONNECTED_TOOL_UNUSABLE' }]);
    expect(offered()).toEqual(['echo']);
  },
);

it('is shown a schema with the type and properties that providers ask for', async () => {
  fixture.models.script(textReply('ok'));
  await run(aTask(fixture.tenantId), [connected('bare', { inputSchema: {} })]);
  const bare = fixture.models.received.at(-1)?.tools?.find((tool) => tool.function.name === 'bare');
  expect(bare?.function.parameters).toMatchObject({ type: 'object', properties: {} });
});

describe('what a tool answers', () => {
  const answering = (answer: unknown) => connected('find', { call: () => Promise.resolve(answer) });

  it.each<[string, unknown, unknown]>([
    ['a text', 'plain', 'plain'],
    ['JSON in a text', '[{"n":1}]', [{ n: 1 }]],
    ['an object', { n: 1 }, { n: 1 }],
    ['nothing', undefined, null],
    ['a function', () => 1, null],
  ])('%s is told to the model', async (_what, answer, told) => {
    expect(await answerOf(answering(answer))).toEqual(told);
  });

  it('is cut when it is megabytes', async () => {
    const told = (await answerOf(answering('x'.repeat(5_000_000)))) as { warning: { code: string }; text: string };
    expect(told.warning.code).toBe('TOOL_OUTPUT_TRUNCATED');
    expect(told.text.length).toBeLessThan(1_000_000);
  });

  it('has no secrets in it', async () => {
    expect(await answerOf(answering({ key: 'sk-test-key' }))).toEqual({ key: '[redacted]' });
  });

  it.each<[string, Error]>([
    ['an error', new Error('no such order, sk-test-key')],
    ['what is no error', 'no such order, sk-test-key' as never],
    ['megabytes', new Error(`no such order ${'x'.repeat(5_000_000)}`)],
  ])('is a failure when it throws %s', async (_what, thrown) => {
    const call = () => Promise.reject(thrown);
    const told = JSON.stringify(await answerOf(connected('find', { call })));
    expect(told).toContain('TOOL_FAILED');
    expect(told).toContain('no such order');
    expect(told).not.toContain('sk-test-key');
    expect(told.length).toBeLessThan(5000);
  });
});

it('a call is told when the run is cancelled, and not waited for', async () => {
  const stop = new AbortController();
  const reasons: unknown[] = [];
  const call: ConnectedTool['call'] = (_input, signal) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    stop.abort();
    return new Promise(() => undefined);
  };
  fixture.models.script(toolReply([{ name: 'wait' }]));
  const running = run(aTask(fixture.tenantId), [connected('wait', { call })], { signal: stop.signal });
  await expect(running).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  expect(reasons).toEqual([expect.any(DOMException)]);
});

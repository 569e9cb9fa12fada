import { createRuntime, type Tool } from '../../../runtime';
import { addTenant, addTool, enableTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let server: TestServer;
let texts: TestServer;

beforeAll(async () => {
  fixture = await startAgentFixture();
  texts = await startServer((_request, response) => void response.setHeader('content-type', 'text/plain').end('hello'));
  server = await startServer(({ body }, response) => sendJson(response, { got: JSON.parse(body) as unknown }));
});
afterAll(() => Promise.all([fixture.close(), server.close(), texts.close()]));

interface GivenTool {
  readonly code: string;
  readonly transport?: string;
  readonly endpoint?: string | null;
  readonly schema?: object;
  readonly customConfig?: object;
}

const builtin = (code: string): GivenTool => ({ code, transport: 'builtin', endpoint: null });
const toolIds = new Map<string, number>();

async function tenantWith(tools: readonly GivenTool[] = [], settings: object = {}): Promise<string> {
  const { database } = fixture;
  const tenantId = await addTenant(database, { settings });
  for (const { customConfig, ...tool } of tools) {
    const toolId = toolIds.get(tool.code) ?? (await addTool(database, { endpoint: server.url, ...tool }));
    toolIds.set(tool.code, toolId);
    await enableTool(database, { tenantId, toolId, customConfig });
  }
  return tenantId;
}

async function run(tenantId: string, config: Record<string, unknown>, ...replies: readonly ScriptedReply[]) {
  const start = fixture.models.received.length;
  fixture.models.script(...replies, textReply('Done'));
  const { result, ...rest } = await fixture.runtime.run(aTask(tenantId, config));
  const [first] = fixture.models.received.slice(start);
  const content = (role: string) => first?.messages.find((message) => message.role === role)?.content;
  const last = JSON.stringify(fixture.models.received.at(-1)?.messages);
  return {
    ...rest,
    calls: result.tool_calls,
    system: content('system'),
    user: content('user'),
    tools: first?.tools,
    last,
  };
}

const echo = (input: object) => toolReply([{ name: 'echo', arguments: input }]);
const sentBy = (code: string) =>
  server.requests.flatMap(({ body }) => (body.includes(`"tool":"${code}"`) ? [JSON.parse(body) as unknown] : []));

it('fills the prompt of the task and of an agent; a message only where the task says that it is a template', async () => {
  const tenantId = await tenantWith();
  await fixture.runtime.admin.agent.create({ tenantId, name: 'support', systemPrompt: 'You serve {{client.name}}.' });
  const variables = { client: { name: 'Ann' }, myVar: 'value1' };
  const own = await run(tenantId, { variables, system_prompt: 'Get {{myVar}}', message: 'Hi {{myVar}}' });
  expect(own).toMatchObject({ system: 'Get value1', user: 'Hi {{myVar}}', warnings: [], variables });
  const ofAgent = await run(tenantId, {
    variables,
    agent: 'support',
    message: 'Hi {{myVar}}',
    message_is_template: true,
  });
  expect(ofAgent).toMatchObject({ system: 'You serve Ann.', user: 'Hi value1', warnings: [] });
});

it('"{{sel}}" in an argument keeps its type, an unknown name stays and is told, and what is recorded is what was sent', async () => {
  const tenantId = await tenantWith([{ code: 'click' }]);
  const asked = { selector: '{{sel}}', n: '{{n}}', text: 'no. {{n}} of {{all}}', list: [{ deep: '{{sel}}' }] };
  const reply = toolReply([{ name: 'click', arguments: asked }]);
  const done = await run(tenantId, { variables: { sel: '#id', n: 7 } }, reply);
  const filled = { selector: '#id', n: 7, text: 'no. 7 of {{all}}', list: [{ deep: '#id' }] };
  expect(done.calls).toMatchObject([{ tool: 'click', arguments: filled }]);
  expect(sentBy('click').at(-1)).toMatchObject({ arguments: filled });
  const { message } = done.warnings[0] ?? {};
  expect([message, done.warnings.length]).toEqual([
    'Unknown variables in the arguments of click: "all". They were left as they are.',
    1,
  ]);
  // The transcript is the model's own words.
  expect(done.last).toContain('{{sel}}');
});

it('without variables, arguments are as the model wrote them and nothing is said', async () => {
  const done = await run(await tenantWith(), {}, echo({ text: 'Hello {{name}}' }));
  expect(done).toMatchObject({ calls: [{ arguments: { text: 'Hello {{name}}' } }], warnings: [] });
  expect(done).not.toHaveProperty('variables');
});

it('values, results, answers and rest templates are never filled again', async () => {
  const body = { to: '{{to}}', note: 'for {{to}}', own: '{{secret}}' };
  const tenantId = await tenantWith([
    { code: 'notify', transport: 'rest', customConfig: { transport_config: { body } } },
  ]);
  const variables = { loop: '{{secret}}', to: '{{loop}} {{to}}', secret: 'S3' };
  const reply = toolReply([{ name: 'notify', arguments: { to: '{{to}}' } }]);
  fixture.models.script(reply, textReply('{{secret}}'));
  const { result, variables: after } = await fixture.runtime.run(
    aTask(tenantId, { variables, system_prompt: '{{loop}}' }),
  );
  const value = '{{loop}} {{to}}';
  expect(result).toMatchObject({ text: '{{secret}}', tool_calls: [{ arguments: { to: value } }] });
  expect(server.requests.at(-1)?.body).toBe(JSON.stringify({ to: value, note: `for ${value}` }));
  expect(result.tool_calls[0]?.result).toEqual({ got: { to: value, note: `for ${value}` } });
  expect(fixture.models.received.at(-1)?.messages[0]?.content).toBe('{{secret}}');
  expect(after).toEqual(variables);
});

it('what a tool sets is there from the next reply on, can be read, and comes out with the result', async () => {
  const tenantId = await tenantWith([builtin('set_variable'), builtin('get_variable')]);
  const done = await run(
    tenantId,
    { variables: { y: 1 } },
    toolReply([
      { name: 'set_variable', arguments: { name: 'x', value: 1 } },
      { name: 'echo', arguments: { x: '{{x}}' } },
    ]),
    toolReply([
      { name: 'get_variable', arguments: { name: 'x' } },
      { name: 'get_variable', arguments: {} },
      { name: 'get_variable', arguments: { name: 'zz' } },
      { name: 'echo', arguments: { x: '{{x}}' } },
    ]),
  );
  expect(done.calls.map(({ result, error }) => result ?? error)).toMatchObject([
    { name: 'x', value: 1 },
    { x: '{{x}}' },
    { name: 'x', value: 1 },
    { names: ['y', 'x'] },
    { code: 'TOOL_INVALID_ARGS', message: containing('there is "y", "x"') },
    { x: 1 },
  ]);
  expect(done.variables).toEqual({ y: 1, x: 1 });
});

it('store_as keeps the result of a tool, as the model is told', async () => {
  const tenantId = await tenantWith([
    { code: 'find', customConfig: { transport_config: { store_as: 'found' } } },
    { code: 'big', customConfig: { store_as: 'page' } },
  ]);
  const long = 'x'.repeat(60_000);
  const done = await run(
    tenantId,
    { variables: { long } },
    toolReply([{ name: 'find', arguments: { q: 1 } }]),
    toolReply([
      { name: 'echo', arguments: { order: '{{found.got.arguments}}' } },
      { name: 'big', arguments: { text: 'y'.repeat(6000) } },
    ]),
  );
  expect(done.calls[1]).toMatchObject({ arguments: { order: { q: 1 } } });
  const told = done.tools?.find(({ function: { name } }) => name === 'find')?.function.description;
  expect(told).toContain('write {{found}} in an argument');
  expect(Object.keys(done.variables ?? {})).toEqual(['long', 'found']);
  expect(done.warnings).toMatchObject([{ code: 'VARIABLE_NOT_STORED', message: containing('"page"') }]);
});

it('an unknown name in arguments that are refused is told too, and a tool sees the text that came', async () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } } };
  const tenantId = await tenantWith([
    { code: 'count', schema },
    { code: 'plain', endpoint: texts.url, customConfig: { store_as: 'page' } },
  ]);
  const done = await run(
    tenantId,
    { variables: { a: 1 } },
    toolReply([
      { name: 'count', arguments: { n: '{{many}}' } },
      { name: 'plain', arguments: {} },
    ]),
    echo({ text: '{{page}}' }),
  );
  expect(done.calls).toMatchObject([{ error: { code: 'TOOL_INVALID_ARGS' } }, {}, { arguments: { text: 'hello' } }]);
  expect(done.warnings).toMatchObject([{ code: 'VARIABLE_UNKNOWN', message: containing('of count: "many"') }]);
});

it('a result that is not kept takes the place of the one before it, and the model is told', async () => {
  const tenantId = await tenantWith([{ code: 'find', customConfig: { store_as: 'order' } }]);
  const find = (q: string) => toolReply([{ name: 'find', arguments: { q } }]);
  const late = { name: 'echo', arguments: { order: '{{order}}' } };
  const done = await run(
    tenantId,
    {},
    toolReply([{ name: 'find', arguments: {} }, late]),
    find('x'.repeat(70_000)),
    echo(late.arguments),
  );
  // There is no variable yet, but a tool that sets one.
  expect(done.calls[1]).toMatchObject({ arguments: { order: '{{order}}' } });
  expect(done.calls.at(-1)).toMatchObject({ arguments: { order: '{{order}}' } });
  expect(done.last).toContain('there is no variable');
  expect(done.warnings.map(({ code }) => code)).toEqual(['VARIABLE_UNKNOWN', 'VARIABLE_NOT_STORED']);
  expect(done).not.toHaveProperty('variables');
});

it('a variable that a tool has removed stays away, for a run that waited too', async () => {
  const forget: Tool = {
    ...echoTool,
    definition: { ...echoTool.definition, name: 'forget' },
    execute: (_input, { variables }) => {
      variables.delete('n');
      return Promise.resolve({ isError: false, value: null });
    },
  };
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
    plugins: { tools: [forget] },
  });
  try {
    const tenantId = await tenantWith([{ code: 'pay' }], {
      tool_config: { tool_permissions: { pay: { decision: 'ask' } } },
    });
    fixture.models.script(
      toolReply([{ name: 'forget', arguments: {} }]),
      toolReply([{ name: 'pay', arguments: { n: '{{n}}', m: '{{m}}' } }]),
    );
    const task = aTask(tenantId, { variables: { n: 1, m: 2 } });
    const waiting = await runtime.run(task);
    const asked = { n: '{{n}}', m: 2 };
    expect(waiting).toMatchObject({ awaiting: { arguments: asked }, warnings: [{ code: 'VARIABLE_UNKNOWN' }] });
    fixture.models.script(textReply('Paid.'));
    const approval = { run_id: waiting.run_id, decision: 'approve' };
    const result = await runtime.run({ ...task, config: { message: '', approval } });
    expect(result).toMatchObject({ status: 'completed', variables: { m: 2 } });
    expect(sentBy('pay').at(-1)).toMatchObject({ arguments: asked });
  } finally {
    await runtime.close();
  }
});

it('of what calls set, the last holds, whatever the model calls them, also for a run that waited', async () => {
  const rules = { pay: { decision: 'ask' } };
  const tenantId = await tenantWith([{ code: 'pay' }, builtin('set_variable')], {
    tool_config: { tool_permissions: rules },
  });
  const set = (name: string, value: number, id: string) => ({ name: 'set_variable', arguments: { name, value }, id });
  fixture.models.script(
    toolReply([set('note', 1, 'z'), set('amount', 2, 'a'), set('last', 1, 'y'), set('last', 2, 'b')]),
    toolReply([{ name: 'pay', arguments: { amount: '{{amount}}', last: '{{last}}' }, id: 'p' }]),
  );
  const task = aTask(tenantId, { variables: { amount: 1000 }, tool_execution: 'sequential' });
  const waiting = await fixture.runtime.run(task);
  const asked = { amount: 2, last: 2 };
  expect(waiting).toMatchObject({ awaiting: { arguments: asked } });
  fixture.models.script(textReply('Paid.'));
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const result = await fixture.runtime.run({ ...task, config: { message: '', approval } });
  expect(result).toMatchObject({ status: 'completed', variables: { ...asked, note: 1 } });
  expect(sentBy('pay').at(-1)).toMatchObject({ arguments: asked });
});

it('rules and approvals are about what is sent, and a run that waited keeps its variables', async () => {
  const rules = {
    pay: { decision: 'ask', limits: { amount: { max: 10 } } },
    send: { allowed_patterns: { to: ['+49*'] } },
  };
  const tools = [{ code: 'pay' }, { code: 'send' }, builtin('set_variable')];
  const tenantId = await tenantWith(tools, { tool_config: { tool_permissions: rules } });
  const refused = await run(
    tenantId,
    { variables: { to: '+1 555' } },
    toolReply([{ name: 'send', arguments: { to: '{{to}}' } }]),
  );
  expect(refused.calls).toMatchObject([{ error: { code: 'TOOL_PERMISSION_DENIED' } }]);
  fixture.models.script(toolReply([{ name: 'pay', arguments: { amount: '{{amount}}' } }]));
  expect(await fixture.runtime.run(aTask(tenantId, { variables: { amount: 11 } }))).toMatchObject({
    awaiting: { arguments: { amount: 10 } },
  });
  fixture.models.script(
    toolReply([{ name: 'set_variable', arguments: { name: 'amount', value: 7 } }]),
    toolReply([
      { name: 'set_variable', arguments: { name: 'amount', value: 9 } },
      { name: 'pay', arguments: { amount: '{{amount}}' } },
    ]),
  );
  const task = aTask(tenantId, { variables: { amount: 5, kept: '{"a":1}' } });
  const waiting = await fixture.runtime.run(task);
  expect(waiting).toMatchObject({ awaiting: { tool: 'pay', arguments: { amount: 7 } } });
  fixture.models.script(textReply('Paid.'));
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const { meta, task_id } = task;
  const result = await fixture.runtime.run({ task_id, meta, config: { message: '', approval } });
  expect(result).toMatchObject({ status: 'completed', variables: { amount: 9, kept: '{"a":1}' } });
  expect(sentBy('pay').at(-1)).toMatchObject({ arguments: { amount: 7 } });
});

it('a skill is filled with the variables of the moment, once', async () => {
  const tenantId = await tenantWith([builtin('set_variable')]);
  const content = '---\nname: greet\ndescription: Greets.\n---\nGreet {{who.name}} of {{firm}} as $ARGUMENTS.\n';
  await fixture.runtime.admin.skill.create({ tenantId, content });
  const done = await run(
    tenantId,
    { variables: { who: { name: '$ARGUMENTS' } }, skills: ['greet'] },
    toolReply([{ name: 'load_skill', arguments: { name: 'greet', arguments: '{{who.name}} {{x}}' } }]),
  );
  expect(done.calls).toMatchObject([{ result: { instructions: 'Greet $ARGUMENTS of {{firm}} as $ARGUMENTS {{x}}.' } }]);
  expect(done.warnings.map(({ message }) => message)).toEqual([
    'Unknown variables in the skill "greet": "firm". They were left as they are.',
    'Unknown variables in the arguments of load_skill: "x". They were left as they are.',
  ]);
});

it('tells the time of the tenant, and its context where it says so, which stays while a task runs', async () => {
  const settings = { timezone: 'Asia/Tokyo', language: 'ja', tell_context: true };
  const tenantId = await tenantWith([builtin('time_now')], settings);
  const reply = toolReply([
    { name: 'time_now', arguments: {} },
    { name: 'time_now', arguments: { time_zone: 'UTC' } },
    { name: 'time_now', arguments: { time_zone: 'Mars' } },
  ]);
  const done = await run(tenantId, { system_prompt: 'Be kind.' }, reply);
  const [tokyo, utc, mars] = done.calls;
  expect(tokyo?.result).toMatchObject({ now: containing('+09:00'), time_zone: 'Asia/Tokyo' });
  expect(utc?.result).toMatchObject({ now: containing('+00:00'), time_zone: 'UTC' });
  expect(mars?.error).toMatchObject({ code: 'TOOL_INVALID_ARGS' });
  expect(done.system).toMatch(
    /^Be kind\.\n\n<tenant_context>\nDate: \d{4}-\d\d-\d\d \(\w+day\)\nTime zone: Asia\/Tokyo\nLanguage: ja\n<\/tenant_context>$/,
  );
  await fixture.runtime.admin.tenant.update({ tenantId, settings: { tell_context: false } });
  expect((await run(tenantId, { system_prompt: 'Be kind.' })).system).toBe('Be kind.');
});

it.each([
  [{ '1a': 1 }, '"1a" is not a name of a variable'],
  [[1], 'must be an object'],
  [{ a: 'x'.repeat(70_000) }, 'longer than 65536 bytes'],
])('refuses variables that cannot be, before anything is spent (%#)', async (variables, reason) => {
  const run = fixture.runtime.run(aTask(fixture.tenantId, { variables }));
  expect(await failureOf(run)).toMatchObject({ code: 'INPUT_INVALID', message: containing(reason) });
});

it('no secret of the run gets into a variable that a tool sets, nor out of one', async () => {
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk-very-secret-key', baseUrl: fixture.models.url, maxRetries: 0 },
  });
  try {
    const tenantId = await tenantWith([{ code: 'find_it', customConfig: { store_as: 'found' } }]);
    fixture.models.script(toolReply([{ name: 'find_it', arguments: { q: 'sk-very-secret-key' } }]), textReply('Done'));
    const result = await runtime.run(aTask(tenantId, { variables: { own: 'sk-very-secret-key' } }));
    expect(JSON.stringify(result)).not.toContain('sk-very-secret-key');
  } finally {
    await runtime.close();
  }
});

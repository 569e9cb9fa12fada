import type { RuntimeError } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, failureOf, gate, startAgentFixture } from '../../support/values/agent-fixture';

const TASK = { id: 'n8n-model:77:agent:0', type: 'tenant_model' };
/** A hundred tokens in, twenty out, at the price of gpt-4o-mini. */
const COST = '0.00002700';
const HELLO = [{ role: 'user', content: 'Hello' }];

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.models.received.length = 0;
  fixture.models.always(() => textReply('Hi.').body);
});

type Query = Parameters<AgentFixture['runtime']['models']['call']>[0];
const tenantWith = (settings: object = {}) => addTenant(fixture.database, { settings });
const call = (tenantId: string, query: Partial<Query> = {}) =>
  fixture.runtime.models.call({ tenantId, tier: 'pro', messages: HELLO, task: TASK, ...query });
const bill = (tenantId: string) =>
  fixture.database.query(
    `SELECT task_id, task_type, agent_tier, model_id, model_calls, total_tokens, cost_usd::text AS cost
     FROM elo_t_token_usage WHERE tenant_id = $1 ORDER BY task_id`,
    [tenantId],
  );
const LINE = { task_type: 'tenant_model', agent_tier: 'pro', model_id: 'openai/gpt-4o-mini' };

it('a call is answered by the model of the tier, with what it has cost', async () => {
  const tenantId = await tenantWith();
  expect(await call(tenantId)).toEqual({
    message: { role: 'assistant', content: 'Hi.' },
    ...{ finish_reason: 'stop', model: 'openai/gpt-4o-mini', tier: 'pro', cost_usd: COST, warnings: [] },
    tokens: { prompt: 100, completion: 20, total: 120, cached: 0, cache_written: 0, reasoning: 0 },
  });
  expect(await bill(tenantId)).toEqual([{ ...LINE, task_id: TASK.id, model_calls: 1, total_tokens: 120, cost: COST }]);
});

it('calls of one task stand on one line, also when they are made at once; others have their own', async () => {
  const tenantId = await tenantWith();
  await Promise.all([call(tenantId), call(tenantId), call(tenantId)]);
  await call(tenantId, { task: { ...TASK, id: 'n8n-model:78:agent:0' } });
  await call(tenantId, { task: undefined });
  expect(await bill(tenantId)).toMatchObject([
    { task_type: 'model-call', model_calls: 1 },
    { task_id: TASK.id, model_calls: 3, total_tokens: 360, cost: '0.00008100' },
    { task_id: 'n8n-model:78:agent:0', model_calls: 1 },
  ]);
});

it('a tenant whose budget is spent is refused before anything is sent, also of many calls at once', async () => {
  const tenantId = await tenantWith({ monthly_cost_limit_usd: 0.0016 });
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, () =>
      call(tenantId).then(
        () => 'answered',
        (error: unknown) => (error as RuntimeError).code,
      ),
    ),
  );
  const answered = outcomes.filter((one) => one === 'answered').length;
  expect(answered).toBeGreaterThan(0);
  expect(outcomes.every((one) => ['answered', 'BUDGET_EXCEEDED'].includes(one))).toBe(true);
  expect(fixture.models.received).toHaveLength(answered);
  await fixture.database.query('UPDATE elo_t_token_usage SET cost_usd = 1 WHERE tenant_id = $1', [tenantId]);
  expect(await failureOf(call(tenantId))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(fixture.models.received).toHaveLength(answered);
});

it.each([
  ['TIER_NOT_ALLOWED', { max_tier: 'optima' }, {}],
  ['TIER_UNKNOWN', {}, { tier: 'nobody' }],
  ['MODEL_UNPRICED', { monthly_cost_limit_usd: 1 }, { modelOverride: 'nobody/knows' }],
  ['MODEL_NOT_ALLOWED', { max_tier: 'pro' }, { modelOverride: 'anthropic/claude-3-5-sonnet' }],
  ['INPUT_INVALID', {}, { messages: [] }],
  ['INPUT_INVALID', {}, { toolChoice: { name: 'missing' } }],
])('refuses with %s under the settings %j', async (code, settings, query) => {
  expect(await failureOf(call(await tenantWith(settings), query))).toMatchObject({ code });
  expect(fixture.models.received).toEqual([]);
});

it('says which message holds an image', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const messages = [...HELLO, { role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }];
  const { message } = await failureOf(call(fixture.tenantId, { messages }));
  expect(message).toContain('messages.1: content is not valid (must be a text or parts of text: images');
});

it('sends a conversation with tools as it is, and gives calls back as the model wrote them', async () => {
  const tools = ['look', 'find'].map((name) => ({ name, description: `To ${name}`, inputSchema: { type: 'object' } }));
  const asked = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at": 9007199254740993}' } }];
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
    { role: 'assistant', content: null, tool_calls: asked },
    { role: 'tool', tool_call_id: 'c1', content: 'Nothing.' },
  ];
  fixture.models.script(toolReply([{ id: 'c2', name: 'find', arguments: '{"no": 9007199254740993}' }]));
  const query = { messages, tools, parallelToolCalls: false, responseFormat: { type: 'json_object' }, stop: ['END'] };
  const { message, finish_reason } = await call(fixture.tenantId, { ...query, temperature: 0.5, maxTokens: 77 });
  expect([finish_reason, message.tool_calls]).toEqual([
    'tool-calls',
    [{ id: 'c2', type: 'function', function: { name: 'find', arguments: '{"no": 9007199254740993}' } }],
  ]);
  expect(fixture.models.received[0]).toMatchObject({
    ...{ temperature: 0.5, max_tokens: 77, parallel_tool_calls: false, stop: ['END'] },
    response_format: { type: 'json_object' },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look.' },
      { role: 'assistant', tool_calls: asked },
      { role: 'tool', tool_call_id: 'c1', content: 'Nothing.' },
    ],
  });
  fixture.models.script(toolReply([{ name: 'find' }]));
  await call(fixture.tenantId, { tools, toolChoice: { name: 'find' } });
  expect(fixture.models.received[1]).toMatchObject({
    tool_choice: 'required',
    tools: [{ function: { name: 'find' } }],
  });
});

it('tells of the pieces of a reply without its thinking, at the same bill', async () => {
  const tenantId = await tenantWith();
  fixture.models.always(() => textReply('<think>Hm, hm.</think>Hello to you.').body);
  const pieces: string[] = [];
  const streamed = await call(tenantId, { onDelta: ({ text }) => pieces.push(text) });
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe('Hello to you.');
  const whole = await call(tenantId, { task: { ...TASK, id: 'whole' } });
  expect(streamed).toEqual(whole);
  const [one, other] = await bill(tenantId);
  expect({ ...one, task_id: '' }).toEqual({ ...other, task_id: '' });
});

it('a call that fails is told with its code, and gives its room in the budget back', async () => {
  // Room for one call at a time.
  const tenantId = await tenantWith({ monthly_cost_limit_usd: 0.0016 });
  fixture.models.script({ body: { error: { message: 'no such key' } }, status: 401 });
  expect(await failureOf(call(tenantId))).toMatchObject({ code: 'LLM_AUTH_FAILED' });
  expect(await call(tenantId)).toMatchObject({ cost_usd: COST });
});

it('a call that is stopped ends at once, and stands among what nobody knows the usage of', async () => {
  const tenantId = await tenantWith();
  const asked = gate();
  const controller = new AbortController();
  fixture.models.script(() => asked.open());
  const stopped = failureOf(call(tenantId, { signal: controller.signal }));
  await asked.opened;
  controller.abort();
  expect(await stopped).toMatchObject({ code: 'RUN_CANCELLED' });
  const open = 'SELECT unanswered_requests, error_code FROM elo_agent_model_calls WHERE tenant_id = $1';
  expect(await fixture.database.query(open, [tenantId])).toEqual([
    { unanswered_requests: 1, error_code: 'RUN_CANCELLED' },
  ]);
});

it('room is kept for the form of the answer too, and for messages without a text', async () => {
  const held = async (query: Partial<Query>): Promise<number> => {
    const tenantId = await tenantWith({ monthly_cost_limit_usd: 1 });
    await call(tenantId, query);
    const [row] = await fixture.database.query(
      'SELECT held_cost_usd::float8 AS held FROM elo_agent_runs WHERE tenant_id = $1',
      [tenantId],
    );
    return Number(row?.held);
  };
  const usual = await held({});
  const description = 'x'.repeat(200_000);
  expect(await held({ responseFormat: { type: 'json_object', description } })).toBeGreaterThan(usual * 10);
  expect(await held({ stop: [description] })).toBeGreaterThan(usual * 10);
  const messages = Array.from({ length: 25_000 }, () => ({ role: 'user', content: '' }));
  expect(await held({ messages })).toBeGreaterThan(usual * 10);
});

it('a listener that fails takes nothing away', async () => {
  const tenantId = await tenantWith();
  fixture.models.always(() => textReply('Is 1 <').body);
  const onDelta = (): never => {
    throw new Error('not now');
  };
  expect(await call(tenantId, { onDelta })).toMatchObject({ message: { content: 'Is 1 <' }, cost_usd: COST });
  expect(await bill(tenantId)).toHaveLength(1);
});

it('a call of a tool that was cut off is not passed on, and was paid for', async () => {
  const tenantId = await tenantWith();
  const { body } = toolReply([{ name: 'pay', arguments: '{"amount": 10' }]) as {
    body: { choices: [{ finish_reason: string }] };
  };
  body.choices[0].finish_reason = 'length';
  fixture.models.script({ body });
  expect(await failureOf(call(tenantId))).toMatchObject({ code: 'LLM_CALL_CUT' });
  expect(await bill(tenantId)).toMatchObject([{ total_tokens: 120 }]);
});

it('calls have ids of their own in the conversation, and arguments that are JSON', async () => {
  const asked = { id: 'call_0', type: 'function', function: { name: 'look', arguments: '{}' } };
  const messages = [
    ...HELLO,
    { role: 'assistant', content: '', tool_calls: [asked] },
    { role: 'tool', tool_call_id: 'call_0', content: 'Nothing.' },
  ];
  const written = ['call_0', '', ''].map((id) => ({ id, name: 'look', arguments: '' }));
  fixture.models.script(toolReply(written));
  const { message } = await call(fixture.tenantId, { messages });
  const calls = message.tool_calls ?? [];
  expect(new Set(['call_0', '', ...calls.map(({ id }) => id)]).size).toBe(5);
  expect(calls.map((one) => one.function.arguments)).toEqual(['{}', '{}', '{}']);
});

it('a form that a provider refuses is an error, and the next one is sent all the same', async () => {
  const refusal = { error: { message: "Invalid schema for response_format 'bad'" } };
  fixture.models.script({ body: refusal, status: 400 }, textReply('{}'));
  const responseFormat = { type: 'json_schema', json_schema: { name: 'bad' } };
  expect(await failureOf(call(fixture.tenantId, { responseFormat }))).toMatchObject({ code: 'LLM_BAD_REQUEST' });
  await call(fixture.tenantId, { responseFormat: { type: 'json_object' } });
  expect(fixture.models.received[1]).toMatchObject({ response_format: { type: 'json_object' } });
});

const circular: Record<string, unknown> = {};
circular.self = circular;

it.each([
  ['tools', null],
  ['tools', 'abc'],
  ['tools', [null]],
  ['tools', [{ name: 'one', inputSchema: circular }]],
  ['stop', () => 1],
  ['stop', [1]],
  ['responseFormat', 'json'],
  ['responseFormat', { size: 1n }],
  ['parallelToolCalls', 'no'],
  ['onDelta', 'x'],
  ['signal', {}],
  ['messages', 'Hello'],
  ['messages', [null]],
  ['modelOverride', 'a\0/x'],
])('from plain JavaScript, %s of %p is told as wrong input', async (name, value) => {
  const query = { [name]: value } as Partial<Query>;
  expect(await failureOf(call(fixture.tenantId, query))).toMatchObject({ code: 'INPUT_INVALID' });
  expect(fixture.models.received).toEqual([]);
});

it('tools that are changed afterwards are sent as they are then', async () => {
  const tools = [{ name: 'one', description: 'One', inputSchema: { type: 'object' } }];
  await call(fixture.tenantId, { tools });
  tools.push({ name: 'two', description: 'Two', inputSchema: { type: 'object' } });
  await call(fixture.tenantId, { tools });
  const sent = fixture.models.received.map((request) => request.tools?.map((one) => one.function.name));
  expect(sent).toEqual([['one'], ['one', 'two']]);
});

it('what costs nothing on a free tier has no line', async () => {
  const tenantId = await tenantWith();
  expect(await call(tenantId, { tier: 'nano' })).toMatchObject({ cost_usd: '0.00000000', tier: 'nano' });
  expect(await bill(tenantId)).toEqual([]);
});

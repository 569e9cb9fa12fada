import { compileInputSchema } from '../../../runtime/tools/schemas/validate-input';
import { parseExactly } from '../../../runtime/util/exact-integer';
import type { JsonObject } from '../../../runtime/util/json';
import { addTenant, giveTool } from '../../support/servers/database';
import { startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let server: TestServer;
let answer = '{}';

beforeAll(async () => {
  fixture = await startAgentFixture();
  server = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
});
beforeEach(() => {
  answer = '{"fine":true}';
  server.requests.length = 0;
});
afterAll(() => Promise.all([fixture.close(), server.close()]));

const LONG = '2512292042121000001';
const SCHEMA = { type: 'object', properties: { id: { type: 'integer', minimum: 1 }, more: {} }, required: ['id'] };

interface Given {
  readonly permission?: object;
  readonly transport?: string;
  readonly schema?: object;
}

let tools = 0;

/** A tenant with a tool of its own, and a run in which the model calls it with these arguments. */
async function aCall(args: string, { permission, transport = 'hook', schema = SCHEMA }: Given = {}) {
  const code = `get_order_${tools++}`;
  const settings = permission === undefined ? {} : { tool_config: { tool_permissions: { [code]: permission } } };
  const tenantId = await addTenant(fixture.database, { settings });
  await giveTool(fixture.database, tenantId, { code, endpoint: server.url, schema, transport });
  fixture.models.script(toolReply([{ name: code, arguments: args }]), textReply('Done'));
  const task = aTask(tenantId);
  return { task, result: await fixture.runtime.run(task) };
}

/** What the model was told last. */
const told = (): string => String(fixture.models.received.at(-1)?.messages.at(-1)?.content);
/** What the tool was sent, as it came. */
const sent = (): string => String(server.requests.at(-1)?.body);

it.each([
  [LONG],
  ['-9223372036854775808'],
  ['9007199254740993'],
  ['100000000000000000000000000001'],
  ['9007199254740991'],
])('sends a tool the integer %s as the model wrote it', async (digits) => {
  const { result } = await aCall(`{"id": 1, "more": {"list": [${digits}]}}`);
  expect(sent()).toContain(`"arguments":{"id":1,"more":{"list":[${digits}]}}`);
  const [call] = result.result.tool_calls;
  expect(JSON.stringify(call?.arguments)).toMatch(new RegExp(`"list":\\["?${digits}"?\\]`));
});

it.each([['1e21'], ['0.5'], ['-3'], ['123456789012345678901.5']])('leaves the number %s a number', async (number) => {
  const { result } = await aCall(`{"id": 1, "more": ${number}}`);
  expect(sent()).toContain(`"more":${JSON.stringify(Number(number))}`);
  expect(result.result.tool_calls[0]?.arguments).toEqual({ id: 1, more: Number(number) });
});

it('checks the integer against the schema', async () => {
  expect((await aCall(`{"id": ${LONG}}`)).result.result.tool_calls).toMatchObject([{ result: { fine: true } }]);
  expect(sent()).toContain(`{"id":${LONG}}`);
  for (const [args, schema] of [
    [`{"id": -${LONG}}`, SCHEMA],
    [`{"id": ${LONG}}`, { type: 'object', properties: { id: { type: 'string' } } }],
  ] as const) {
    const { result } = await aCall(args, { schema });
    expect(result.result.tool_calls).toMatchObject([{ error: { code: 'TOOL_INVALID_ARGS' } }]);
  }
});

it('takes a schema with limits beyond 2^53', async () => {
  const schema = { type: 'object', properties: { id: { type: 'integer', maximum: 9_223_372_036_854_775_807 } } };
  const { result } = await aCall('{"id": 5}', { schema });
  expect(result.result.tool_calls).toMatchObject([{ result: { fine: true } }]);
});

it('gives the model the integers of an answer, and reports them as text', async () => {
  answer = '{"orders":[{"id":653247040368672769,"total":10.10}],"text":"no 653247040368672769"}';
  const { result, task } = await aCall(`{"id": ${LONG}}`);
  expect(told()).toBe('{"orders":[{"id":653247040368672769,"total":10.1}],"text":"no 653247040368672769"}');
  const [call] = result.result.tool_calls;
  expect(call).toMatchObject({
    arguments: { id: LONG },
    result: { orders: [{ id: '653247040368672769', total: 10.1 }] },
  });
  const again = await fixture.runtime.run(task);
  expect(again).toMatchObject({ replayed: true, result: result.result });
});

it('keeps the integer for a call that a person approves', async () => {
  const { result, task } = await aCall(`{"id": ${LONG}}`, { permission: { decision: 'ask' } });
  expect(result).toMatchObject({ status: 'awaiting_input', awaiting: { arguments: { id: LONG } } });
  answer = `{"id":${LONG}}`;
  fixture.models.script(textReply('Done'));
  const approval = { run_id: result.run_id, decision: 'approve' };
  const resumed = await fixture.runtime.run({ ...task, config: { ...task.config, approval } });
  expect(resumed).toMatchObject({ status: 'completed' });
  expect(sent()).toContain(`"arguments":{"id":${LONG}}`);
  expect(told()).toBe(`{"id":${LONG}}`);
});

it.each([
  [{ allowed_patterns: { id: ['2512*'] } }, undefined],
  [{ allowed_patterns: { id: ['99*'] } }, 'TOOL_PERMISSION_DENIED'],
  [{ limits: { id: { max: 100 } } }, 'TOOL_PERMISSION_DENIED'],
])('is held to the rules %j', async (permission, code) => {
  const { result } = await aCall(`{"id": ${LONG}}`, { permission });
  expect((result.result.tool_calls[0]?.error as { code?: string } | undefined)?.code).toBe(code);
  expect(server.requests).toHaveLength(code === undefined ? 1 : 0);
});

it('blanks a secret of digits', async () => {
  answer = '{"card":4111111111111111222}';
  const tenantId = await addTenant(fixture.database);
  const tool = { code: 'get_card', endpoint: server.url, authHeader: 'Bearer 4111111111111111222' };
  await giveTool(fixture.database, tenantId, tool);
  fixture.models.script(toolReply([{ name: 'get_card' }]), textReply('Done'));
  const result = await fixture.runtime.run(aTask(tenantId));
  expect(JSON.stringify(result) + told()).not.toContain('4111111111111111222');
});

it.each([
  ['enum', LONG, true],
  ['enum', '2512292042121000002', false],
  ['const', LONG, true],
  ['const', '2512292042121000099', false],
])('is held to the %s of the schema: %s', async (keyword, digits, isAllowed) => {
  const value = keyword === 'enum' ? `[${LONG}]` : LONG;
  const parse = compileInputSchema(
    parseExactly(`{"type":"object","properties":{"id":{"${keyword}":${value}}}}`) as JsonObject,
  );
  expect(await parse(parseExactly(`{"id":${digits}}`) as JsonObject)).toMatchObject({ ok: isAllowed });
});

import type { ServerResponse } from 'node:http';

import type { AgentResult, Tool, ToolCallReport } from '../../../runtime';
import { addTenant, addTool, enableTool, giveTool, type TestTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

const shout: Tool = {
  definition: { name: 'shout', description: 'Shouts', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: (value) => Promise.resolve({ isError: false, value }),
};

let fixture: AgentFixture;
let servers: TestServer;
let elsewhere: TestServer;
let nextCode = 0;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [shout] }));
  elsewhere = await startServer((_request, response) => sendJson(response, { from: 'elsewhere' }));
  servers = await startServer((request, response) => answer(request.path, response));
});
afterAll(async () => {
  await fixture.close();
  await Promise.all([servers.close(), elsewhere.close()]);
});

interface ToolRun {
  readonly code: string;
  readonly tenantId: string;
  readonly result: AgentResult;
  readonly report: ToolCallReport | undefined;
  /** What the model was told of the call. */
  readonly told: string;
  /** What the server got. */
  readonly requests: TestServer['requests'];
}

/** A new tenant with one tool, and a model that calls it once. */
async function runTool(
  tool: Partial<TestTool> & { readonly customConfig?: object },
  input: unknown = {},
  task: { config?: object; meta?: object } = {},
): Promise<ToolRun> {
  const code = `tool_${nextCode++}`;
  const tenantId = await addTenant(fixture.database);
  await giveTool(fixture.database, tenantId, { code, endpoint: `${servers.url}/`, ...tool });
  fixture.models.script(toolReply([{ name: code, arguments: input }]), textReply('Done'));
  const before = servers.requests.length;
  const asked = aTask(tenantId, { tools: [code], ...task.config });
  const result = await fixture.runtime.run({ ...asked, meta: { ...asked.meta, ...task.meta } });
  return {
    code,
    tenantId,
    result,
    report: result.result.tool_calls[0],
    told: String(fixture.models.received.at(-1)?.messages.at(-1)?.content),
    requests: servers.requests.slice(before),
  };
}

describe('the request to a hook', () => {
  it('has exactly the keys of the documents, and the trusted facts under meta', async () => {
    const meta = { client_id: 'c1', dialog_id: 'd1', user_id: 'u1' };
    const { code, tenantId, result, requests } = await runTool({}, { a: 1 }, { config: { agent: 'sales' }, meta });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      tool: code,
      arguments: { a: 1 },
      tenant_id: tenantId,
      meta: { ...meta, task_id: result.task_id, trace_id: 'trace-1', agent: 'sales' },
    });
    expect(requests[0]).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
  });

  it('has no Authorization header when the row has none', async () => {
    const { requests } = await runTool({ authHeader: null });
    expect(requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it("has the row's Authorization header as it is", async () => {
    const { requests } = await runTool({ authHeader: 'Token abc123' });
    expect(requests[0]?.headers.authorization).toBe('Token abc123');
  });

  it('passes on what looks like a prototype as mere data', async () => {
    const { requests } = await runTool({}, '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}');
    expect(requests[0]?.body).toContain('"arguments":{"__proto__":{"polluted":true},"constructor":{"prototype":1}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('what the model is sent of a tool', () => {
  it('is its name, description and schema, and nothing of where or with what it is called', async () => {
    const schema = { type: 'object', properties: { q: { $ref: '#/$defs/q' } }, $defs: { q: { enum: ['a', 'b'] } } };
    const customConfig = { headers: { 'x-key': 'CANARY-header' }, fixed_arguments: { token: 'CANARY-fixed' } };
    const { code } = await runTool({ schema, authHeader: 'Bearer CANARY-auth', customConfig }, { q: 'a' });
    const request = fixture.models.received.at(-1);
    expect(request?.tools).toEqual([
      { type: 'function', function: { name: code, description: `Does ${code}`, parameters: schema } },
    ]);
    expect(fixture.models.requests.at(-1)?.body).not.toMatch(new RegExp(`CANARY|${new URL(servers.url).port}`));
  });

  it('is an empty object of arguments for a row without a schema', async () => {
    await runTool({});
    const [tool] = fixture.models.received.at(-1)?.tools ?? [];
    expect(tool?.function.parameters).toEqual({ type: 'object', properties: {} });
  });

  it('is nothing at all for a row that cannot be used, which is a warning', async () => {
    const tenantId = await addTenant(fixture.database);
    await giveTool(fixture.database, tenantId, { code: 'bad name!', endpoint: servers.url });
    fixture.models.script(textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId));
    expect(result.warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing('"bad name!"') }]);
    expect(fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name)).toEqual(['shout']);
  });
});

describe("the tenant's custom_config", () => {
  it('sends its calls elsewhere, with its own headers, and those of others not', async () => {
    const toolId = await addTool(fixture.database, { code: 'shared', endpoint: servers.url, authHeader: 'Bearer row' });
    const [plain, special] = [await addTenant(fixture.database), await addTenant(fixture.database)];
    await enableTool(fixture.database, { tenantId: plain, toolId });
    await enableTool(fixture.database, {
      tenantId: special,
      toolId,
      customConfig: { mcp_endpoint: elsewhere.url, auth_header: 'Bearer own', headers: { 'X-API-Key': 'k1' } },
    });
    for (const tenantId of [plain, special]) {
      fixture.models.script(toolReply([{ name: 'shared' }]), textReply('Done'));
      await fixture.runtime.run(aTask(tenantId));
    }
    expect(JSON.parse(servers.requests.at(-1)?.body ?? '')).toMatchObject({ tenant_id: plain });
    expect(servers.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer row' });
    expect(JSON.parse(elsewhere.requests.at(-1)?.body ?? '')).toMatchObject({ tenant_id: special });
    expect(elsewhere.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer own', 'x-api-key': 'k1' });
  });

  it('fixes arguments that the model neither sees nor changes', async () => {
    const schema = { type: 'object', properties: { text: {}, token: {} }, required: ['text', 'token'] };
    const customConfig = { fixed_arguments: { token: 'fixed' }, description: 'Sends for us' };
    const { requests, report } = await runTool({ schema, customConfig }, { text: 'Hi', token: 'mine' });
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ arguments: { text: 'Hi', token: 'fixed' } });
    expect(report?.arguments).toEqual({ text: 'Hi' });
    const [tool] = fixture.models.received.at(-1)?.tools ?? [];
    expect(tool?.function).toMatchObject({ description: 'Sends for us', parameters: { required: ['text'] } });
    expect(JSON.stringify(tool)).not.toContain('token');
  });
});

describe('a tool that fails', () => {
  it.each([
    ['/422', { code: 'TOOL_HTTP_ERROR', message: containing('HTTP 422: {"detail":"no such order"}') }],
    ['/unsuccessful', { code: 'TOOL_FAILED', message: containing('no funds') }],
    ['/redirect', { code: 'TOOL_HTTP_ERROR', message: containing('HTTP 307') }],
    ['/broken', { code: 'TOOL_UNREACHABLE' }],
  ])('at %s is told to the model, and the run goes on', async (path, error) => {
    const before = elsewhere.requests.length;
    const { result, report, told } = await runTool({ endpoint: servers.url + path });
    expect(result).toMatchObject({ status: 'completed', iterations: 2 });
    expect(report).toMatchObject({ error });
    expect(report).not.toHaveProperty('result');
    expect(JSON.parse(told)).toEqual({ error: report?.error });
    expect(elsewhere.requests).toHaveLength(before);
  });

  it('to answer in time is given up', async () => {
    const { result, report } = await runTool({ endpoint: `${servers.url}/hang`, timeoutMs: 200 });
    expect(result.status).toBe('completed');
    expect(report?.error).toMatchObject({ code: 'TOOL_TIMEOUT', message: containing('200 ms') });
  });

  it('to be there at all is told by name', async () => {
    const gone = await startServer(() => undefined);
    await gone.close();
    const { report } = await runTool({ endpoint: gone.url });
    expect(report?.error).toMatchObject({ code: 'TOOL_UNREACHABLE', message: containing('ECONNREFUSED') });
  });
});

describe('an answer that is not what it should be', () => {
  it('such as JSON nine thousand levels deep neither ends the run nor is lost to the ledger', async () => {
    const { result, report } = await runTool({ endpoint: `${servers.url}/deep` });
    expect(result).toMatchObject({ status: 'completed', warnings: [] });
    expect(report?.result).toMatchObject({ warning: { code: 'TOOL_OUTPUT_NOT_JSON' } });
    expect(await fixture.usageRows(result.task_id)).toHaveLength(1);
  });
});

describe('a tool that the tenant may not use', () => {
  const forbidden: [string, Partial<TestTool>, boolean][] = [
    ['that is switched off for the tenant', {}, false],
    ['that is not active', { isActive: false }, true],
    ['of other tiers', { allowedTiers: ['expert'] }, true],
  ];

  it.each(forbidden)('%s is not offered, and not called when the model names it', async (_what, tool, isEnabled) => {
    const code = `forbidden_${nextCode++}`;
    const tenantId = await addTenant(fixture.database);
    const toolId = await addTool(fixture.database, { code, endpoint: servers.url, ...tool });
    await enableTool(fixture.database, { tenantId, toolId, isEnabled });
    const before = servers.requests.length;
    fixture.models.script(toolReply([{ name: code }]), textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId));
    const offered = fixture.models.received.slice(-2).flatMap((request) => request.tools ?? []);
    expect(offered.map((tool) => tool.function.name)).toEqual(['shout', 'shout']);
    expect(result.result.tool_calls[0]?.error).toMatchObject({ code: 'TOOL_NOT_FOUND' });
    expect(servers.requests).toHaveLength(before);
  });
});

it('the allow-list of a task narrows the tools, and a name that is not there is a warning', async () => {
  const tenantId = await addTenant(fixture.database);
  for (const code of ['one', 'two']) await giveTool(fixture.database, tenantId, { code, endpoint: servers.url });
  fixture.models.script(textReply('Done'));
  const result = await fixture.runtime.run(aTask(tenantId, { tools: ['two', 'ghost'] }));
  expect(fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name)).toEqual(['two']);
  expect(result.warnings).toMatchObject([{ code: 'TOOL_NOT_LOADED', message: containing('"ghost"') }]);
});

it('offers the tools in their sort order, and those of plugins after them', async () => {
  const tenantId = await addTenant(fixture.database);
  for (const [index, code] of ['sorted_c', 'sorted_a', 'sorted_b'].entries()) {
    await giveTool(fixture.database, tenantId, { code, endpoint: servers.url, sortOrder: 3 - index });
  }
  fixture.models.script(textReply('Done'));
  await fixture.runtime.run(aTask(tenantId));
  const names = fixture.models.received.at(-1)?.tools?.map((tool) => tool.function.name);
  expect(names).toEqual(['sorted_b', 'sorted_a', 'sorted_c', 'shout']);
});

function answer(path: string, response: ServerResponse): void {
  if (path === '/deep') return void response.writeHead(200).end('['.repeat(9000) + ']'.repeat(9000));
  if (path === '/hang') return;
  if (path === '/422') return sendJson(response, { detail: 'no such order' }, 422);
  if (path === '/unsuccessful') return sendJson(response, { success: false, error: 'no funds' });
  if (path === '/redirect') return void response.writeHead(307, { location: `${elsewhere.url}/` }).end();
  if (path === '/broken') return void response.writeHead(200, { 'content-length': '99' }).destroy();
  sendJson(response, { rows: 5 });
}

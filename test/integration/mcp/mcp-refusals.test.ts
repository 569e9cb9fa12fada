import '../../support/setup/errors-of-node';

import type { AgentResult } from '../../../runtime';
import { sendJson } from '../../support/servers/http-server';
import { type RpcHandlers, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { matching } from '../../support/setup/matchers';
import { mcpWorld } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aRuntime, register, run } = world;

const TOOLS = { tools: [{ name: 'paint', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] };
const TOKEN = 'token-of-the-server-1234';

/** A call of a tool that only reads, to a server that answers every call so. */
async function refused(answer: RpcHandlers[string]): Promise<{
  readonly error: AgentResult['result']['tool_calls'][number]['error'];
  readonly calls: number;
  readonly connections: number;
}> {
  const server = await startRawMcpServer({ 'tools/list': () => TOOLS, 'tools/call': answer });
  world.closeLater(server.close);
  const { tenantId, code } = await register(server.url, { ownAuth: { kind: 'bearer', token: TOKEN } });
  const runtime = aRuntime();
  const call = { name: `${code}_paint`, arguments: { color: 'mauve' } };
  await run(runtime, tenantId, { calls: [call] });
  const before = server.methods().length;
  const ran = await run(runtime, tenantId, { calls: [call] });
  const methods = server.methods().slice(before);
  const count = (name: string): number => methods.filter((method) => method === name).length;
  return {
    error: ran.result.tool_calls[0]?.error,
    calls: count('tools/call'),
    connections: count('initialize'),
  };
}

const status =
  (code: number, body: unknown): RpcHandlers[string] =>
  ({ id, response }) => {
    const isText = typeof body === 'string';
    if (isText) response.writeHead(code, { 'content-type': 'text/plain' }).end(body);
    else sendJson(response, { jsonrpc: '2.0', id, ...(body as object) }, code);
    return undefined;
  };

const words = 'color must be one of: red, green';

it.each([
  ['an error of JSON-RPC', 400, { error: { code: -32_602, message: words } }],
  ['an error of JSON-RPC without its id', 400, { id: null, error: { code: -32_602, message: words } }],
  ['the list of FastAPI', 422, { detail: [{ loc: ['body', 'color'], msg: words }] }],
  ['a problem', 400, { title: 'Bad request', detail: words }],
  ['plain text', 422, words],
  ['a page', 400, `<!doctype html><html><head><title>${words}</title></head><body>Sorry</body></html>`],
])('a refusal as %s reaches the model, and is not asked for again', async (_what, code, body) => {
  const { error, ...counts } = await refused(status(code, body));
  expect(error).toMatchObject({ code: 'TOOL_HTTP_ERROR', message: matching(new RegExp(`HTTP ${code}: .*${words}`)) });
  expect(counts).toEqual({ calls: 1, connections: 0 });
});

it.each([
  [400, 'No transport found for sessionId'],
  [400, 'Session does not exist'],
  [410, 'Gone'],
])('a refusal that may be about the connection, HTTP %i "%s", opens another for the next call', async (code, body) => {
  const { error, ...counts } = await refused(status(code, body));
  expect(error).toMatchObject({ code: 'TOOL_HTTP_ERROR' });
  expect(counts).toEqual({ calls: 1, connections: 1 });
});

it('a rate that is limited reaches the model as such', async () => {
  const { error } = await refused(status(429, { error: { code: -32_000, message: 'three calls a minute' } }));
  expect(error).toMatchObject({ code: 'TOOL_BUSY', message: matching(/three calls a minute/) });
});

it('a credential that is refused says why', async () => {
  const { error } = await refused(status(403, { error: { code: -32_001, message: 'this plan has no colors' } }));
  expect(error).toMatchObject({ code: 'MCP_CREDENTIAL_REFUSED', message: matching(/this plan has no colors/) });
});

it('a server that fails says why, and is asked again where that does no harm', async () => {
  const { error, calls } = await refused(status(500, { error: { code: -32_603, message: 'out of paint' } }));
  expect(error).toMatchObject({ code: 'TOOL_HTTP_ERROR', message: matching(/HTTP 500: out of paint/) });
  expect(calls).toBe(2);
});

it.each([[400], [403], [500]])('what comes with HTTP %i shows no secret and is short', async (code) => {
  const { error } = await refused(status(code, `Bearer ${TOKEN} ${'x'.repeat(100_000)}`));
  expect(JSON.stringify(error)).not.toContain(TOKEN);
  expect(JSON.stringify(error).length).toBeLessThan(20_000);
});

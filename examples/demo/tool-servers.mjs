// Two tool servers for the demo: an HTTP hook, and a real MCP server over streamable HTTP.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod/v4';

const HOOK_TOOLS = {
  find_orders: ({ customer }) => ({
    customer,
    orders: [
      { id: 1001, item: 'bicycle bell', state: 'sent' },
      { id: 1002, item: 'chain', state: 'packed' },
    ],
  }),
  find_trips: ({ customer }) => ({
    customer,
    trips: [
      { to: 'Lisbon', month: 'May' },
      { to: 'Oslo', month: 'June' },
    ],
  }),
  return_policy: () => ({ days: 30 }),
  refund_order: ({ order }) => ({ order, refunded: true }),
};

/**
 * The hook answers `{tool, arguments, tenant_id, meta}` with what the tool found.
 * @param {{ port?: number }} [options]
 */
export function startHookServer({ port = 0 } = {}) {
  return listen(port, async (incoming, response) => {
    const { tool, arguments: input } = await readJson(incoming);
    sendJson(response, HOOK_TOOLS[tool]?.(input) ?? { success: false, error: 'unknown tool' });
  });
}

/**
 * @param {{ port?: number }} [options]
 * @returns the server; its MCP endpoint is `${url}/mcp`
 */
export function startMcpServer({ port = 0 } = {}) {
  const sessions = new Map();
  return listen(port, async (incoming, response) => {
    const known = sessions.get(incoming.headers['mcp-session-id']);
    const transport = known ?? (await openSession(sessions));
    await transport.handleRequest(incoming, response);
  });
}

async function openSession(sessions) {
  const server = new McpServer({ name: 'demo', version: '1.0.0' });
  const answer = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
  const inputSchema = { city: z.string() };
  server.registerTool(
    'delivery_estimate',
    { description: 'Days until a delivery reaches a city', inputSchema },
    ({ city }) => answer({ city, days: 3 }),
  );
  server.registerTool(
    'weather_forecast',
    { description: 'The weather of the next days in a city', inputSchema },
    ({ city }) => answer({ city, weather: 'sun and 24 degrees' }),
  );
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}

function listen(port, handle) {
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error) => sendJson(response, { success: false, error: error.message }, 500));
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve({
        url: `http://127.0.0.1:${server.address().port}`,
        close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
      });
    });
  });
}

async function readJson(incoming) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function sendJson(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

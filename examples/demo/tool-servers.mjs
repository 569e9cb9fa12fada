// Two tool servers for the demo: an HTTP hook, and a real MCP server over streamable HTTP.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod/v4';

/**
 * The hook answers `{tool, arguments, tenant_id, meta}` with what the tool found.
 * @param {{ port?: number }} [options]
 */
export function startHookServer({ port = 0 } = {}) {
  return listen(port, async (incoming, response) => {
    const { tool, arguments: input } = await readJson(incoming);
    const orders = [
      { id: 1001, item: 'bicycle bell', state: 'sent' },
      { id: 1002, item: 'chain', state: 'packed' },
    ];
    sendJson(
      response,
      tool === 'find_orders' ? { customer: input.customer, orders } : { success: false, error: 'unknown tool' },
    );
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
  const server = new McpServer({ name: 'demo-delivery', version: '1.0.0' });
  server.registerTool(
    'estimate',
    { description: 'Days until a delivery reaches a city', inputSchema: { city: z.string() } },
    ({ city }) => ({ content: [{ type: 'text', text: JSON.stringify({ city, days: 3 }) }] }),
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

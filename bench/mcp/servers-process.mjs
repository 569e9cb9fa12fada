// MCP servers and a model without any thinking time, in a process of their own. Prints its port.
// Paths: /mcp/N is server N; /v1/chat/completions is the model, which answers at once.
import { createServer } from 'node:http';

export const TOOLS_PER_SERVER = 20;

const schema = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'What to look for' },
    limit: { type: 'integer', minimum: 1, maximum: 100 },
    filter: { $ref: '#/$defs/filter' },
  },
  required: ['query'],
  $defs: { filter: { type: 'object', properties: { field: { type: 'string' }, value: { type: 'string' } } } },
};
const tools = Array.from({ length: TOOLS_PER_SERVER }, (_, index) => ({
  name: `tool_${index}`,
  description: `Searches collection ${index} and gives back what fits the query best, as a list of rows.`,
  inputSchema: schema,
}));

const ANSWERS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: input }) => ({ content: [{ type: 'text', text: JSON.stringify({ rows: [input] }) }] }),
};

const MODEL_REPLY = JSON.stringify({
  id: 'gen-1',
  object: 'chat.completion',
  created: 1760000000,
  model: 'openai/gpt-4o-mini',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Done.' } }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
});

function answer(request, response, body) {
  const send = (status, text = '') =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  if (request.url.startsWith('/v1/')) return send(200, MODEL_REPLY);
  if (request.method !== 'POST') return send(405);
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return send(202);
  const result = ANSWERS[method]?.(params);
  const error = { code: -32601, message: 'Method not found' };
  return send(200, JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => answer(request, response, body));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.on('disconnect', () => process.exit(0));

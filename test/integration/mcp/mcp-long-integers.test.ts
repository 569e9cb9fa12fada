import '../../support/setup/errors-of-node';

import type { ServerResponse } from 'node:http';

import { startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { until } from '../../support/values/until';
import { mcpWorld } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aRuntime, register, run } = world;

const LONG = '2512292042121000001';
const ORDER = '653247040368672769';
const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}`;

type Send = (response: ServerResponse, json: string) => unknown;

const FORMS: [string, Send][] = [
  ['JSON', (response, json) => response.writeHead(200, { 'content-type': 'application/json' }).end(json)],
  [
    'an event',
    (response, json) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${json}\n\n`),
  ],
  [
    'an event in pieces, with \\r\\n',
    (response, json) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = Buffer.from(`id: 1\r\ndata:${json}\r\n\r\n`);
      const middle = text.indexOf(ORDER) + 5;
      response.write(text.subarray(0, middle));
      setImmediate(() => response.end(text.subarray(middle)));
    },
  ],
];

/** A call of a tool on a server that answers so, with this result. */
async function aCall(send: Send, result: string) {
  const server = await startRawMcpServer({
    'tools/list': ({ id, response }) => {
      send(response, `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"get","inputSchema":${SCHEMA}}]}}`);
      return undefined;
    },
    'tools/call': ({ id, response }) => {
      send(response, `{"jsonrpc":"2.0","id":${id},"result":${result}}`);
      return undefined;
    },
  });
  world.closeLater(server.close);
  const { tenantId, code } = await register(server.url);
  const ran = await run(aRuntime(), tenantId, { calls: [{ name: `${code}_get`, arguments: `{"id":${LONG}}` }] });
  const { models } = world.fixture();
  return {
    requests: server.requests,
    sent: server.requests.map(({ body }) => body).find((body) => body.includes('"tools/call"')),
    told: models.received.at(-1)?.messages.at(-1)?.content,
    call: ran.result.tool_calls[0],
  };
}

describe.each(FORMS)('an answer as %s', (_form, send) => {
  it('keeps integers beyond 2^53, in arguments and structured content', async () => {
    const structured = `{"orders":[{"id":${ORDER},"total":10.10}],"text":"no ${ORDER}, \\"${LONG}"}`;
    const { sent, told, call } = await aCall(send, `{"content":[],"structuredContent":${structured}}`);
    expect(sent).toContain(`"arguments":{"id":${LONG}}`);
    expect(told).toBe(structured.replace('10.10', '10.1'));
    expect(call).toMatchObject({ arguments: { id: LONG }, result: { orders: [{ id: ORDER, total: 10.1 }] } });
  });

  it('is read whatever its texts hold', async () => {
    const texts = [`a\u2028b`, `\u2028data: [${LONG}`, `\ue000${LONG}`, `x\ue000${LONG}`];
    const structured = JSON.stringify({ texts, id: 0 }).replace('0}', `${ORDER}}`);
    const { told } = await aCall(send, `{"content":[],"structuredContent":${structured}}`);
    expect(told).toBe(structured);
  });

  it('is given once where text and structured content say the same', async () => {
    const text = JSON.stringify(`{ "id": ${ORDER} }`);
    const result = `{"content":[{"type":"text","text":${text}}],"structuredContent":{"id":${ORDER}}}`;
    expect((await aCall(send, result)).told).toBe(`{"id":${ORDER}}`);
  });

  it('keeps integers in JSON within its text', async () => {
    const text = JSON.stringify(`{"id":${ORDER}}`);
    expect((await aCall(send, `{"content":[{"type":"text","text":${text}}]}`)).told).toBe(`{"id":${ORDER}}`);
  });
});

it('keeps an integer that is the whole result', async () => {
  const [[, send]] = FORMS as [(typeof FORMS)[number]];
  expect((await aCall(send, ORDER)).told).toBe(ORDER);
});

it('answers a request of the server under its long id', async () => {
  const ping = `data: {"jsonrpc":"2.0","id":${LONG},"method":"ping"}\n\n`;
  const { requests } = await aCall((response, json) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(ping);
    response.end(`data: ${json}\n\n`);
  }, '{"content":[]}');
  await until(() => requests.some(({ body }) => body.includes(`"id":${LONG}`)));
});

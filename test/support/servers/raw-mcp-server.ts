import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

import { type ReceivedRequest, sendJson, startServer, type TestServer } from './http-server';

export interface RawMcpServer {
  readonly url: string;
  readonly requests: TestServer['requests'];
  /** The JSON-RPC methods that arrived, in order. */
  readonly methods: () => readonly string[];
  readonly close: () => Promise<void>;
}

export interface RpcRequest {
  readonly id: number;
  readonly params: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  readonly response: ServerResponse;
}

/** What a method answers: a result, or undefined when the handler sends something itself, or nothing at all. */
export type RpcHandlers = Readonly<Record<string, (request: RpcRequest) => object | undefined>>;

/** A handler that writes the HTTP answer itself. */
export function sending(send: (response: ServerResponse) => unknown): RpcHandlers[string] {
  return ({ response }) => {
    send(response);
    return undefined;
  };
}

const HANDSHAKE: RpcHandlers = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'raw', version: '1.0.0' },
  }),
  ping: () => ({}),
};

/** A server without sessions that answers JSON-RPC by hand, and so can say what no SDK would let it say. */
export async function startRawMcpServer(handlers: RpcHandlers): Promise<RawMcpServer> {
  const all: RpcHandlers = { ...HANDSHAKE, ...handlers };
  const server = await startServer((request, response) => answer(all, request, response));
  return {
    url: `${server.url}/mcp`,
    requests: server.requests,
    methods: () => server.requests.map(methodOf).filter((method) => method !== ''),
    close: server.close,
  };
}

function methodOf({ body }: ReceivedRequest): string {
  return body === '' ? '' : ((JSON.parse(body) as { method?: string }).method ?? '');
}

function answer(handlers: RpcHandlers, request: ReceivedRequest, response: ServerResponse): void {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(request.body) as {
    id?: number;
    method: string;
    params?: Record<string, unknown>;
  };
  if (id === undefined) return void response.writeHead(202).end();
  const handler = handlers[method];
  if (handler === undefined) {
    return sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  }
  const result = handler({ id, params: params ?? {}, headers: request.headers, response });
  if (result !== undefined) sendJson(response, { jsonrpc: '2.0', id, result });
}

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

import { type ReceivedRequest, sendJson, startServer, type TestServer } from './http-server';

export interface RawMcpServer {
  readonly url: string;
  readonly requests: TestServer['requests'];
  /** The JSON-RPC methods that arrived, in order. */
  readonly methods: () => readonly string[];
  /** The answers to requests of the server's own that arrived. */
  readonly answers: () => number;
  readonly close: () => Promise<void>;
}

export interface RpcRequest {
  readonly id: number;
  readonly params: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  readonly response: ServerResponse;
}

/**
 * What a method answers: a result, or undefined when the handler sends something itself, or nothing at all. `GET` opens the
 * stream of the session; `answer` is asked for each answer to a request of the server's own.
 */
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
  const methods = (): string[] => server.requests.map((request) => readRequest(request).method);
  return {
    url: `${server.url}/mcp`,
    requests: server.requests,
    methods: () => methods().filter((method) => method !== '' && method !== 'answer'),
    answers: () => methods().filter((method) => method === 'answer').length,
    close: server.close,
  };
}

/** What came; the method is `answer` for the answer to a request of the server's own, and '' where there is no body. */
function readRequest({ body }: ReceivedRequest): { id?: number; method: string; params: Record<string, unknown> } {
  return body === '' ? { method: '', params: {} } : { method: 'answer', params: {}, ...(JSON.parse(body) as object) };
}

function answer(handlers: RpcHandlers, request: ReceivedRequest, response: ServerResponse): void {
  const isPost = request.method === 'POST';
  const { id, method, params } = readRequest(request);
  const isAsked = isPost && id !== undefined && method !== 'answer';
  const handler = handlers[isPost ? method : request.method];
  if (handler === undefined && isAsked) {
    return sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  }
  if (handler === undefined) return void response.writeHead(isPost ? 202 : 405).end();
  const result = handler({ id: id ?? 0, params, headers: request.headers, response });
  if (result !== undefined) sendJson(response, { jsonrpc: '2.0', id, result });
}

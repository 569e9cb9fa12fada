import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  isInitializeRequest,
  ListToolsRequestSchema,
  type ListToolsResult,
} from '@modelcontextprotocol/sdk/types.js';

export interface McpCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly meta: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  /** Tells the client that the call is still at work. */
  readonly progress: () => Promise<void>;
}

/** A tool in the server's list; without a schema, one that takes anything. */
export interface ServedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
}

export interface TestMcpServer {
  readonly url: string;
  /** Tool calls that arrived, over all restarts. */
  readonly calls: readonly McpCall[];
  /** The headers of every initialize request. */
  readonly handshakes: readonly IncomingHttpHeaders[];
  /** The headers of every tools/list request. */
  readonly lists: readonly IncomingHttpHeaders[];
  /** The method of every JSON-RPC message that arrived. */
  readonly messages: readonly string[];
  readonly openSessions: () => number;
  /** Long-lived streams from server to client that are open. */
  readonly openStreams: () => number;
  /** Tells every client that the list of tools changed. */
  readonly announceChange: () => Promise<void>;
  /** Forgets every session and cuts every connection; the port stays the same. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface McpServerOptions {
  readonly answer: (call: McpCall) => CallToolResult | Promise<CallToolResult>;
  /** Its tools at the time of each tools/list request, for whoever asks. */
  readonly tools?: (headers: IncomingHttpHeaders) => readonly ServedTool[];
  /** So many tools on a page. */
  readonly pageSize?: number;
  /** What a request with an unknown session gets: 404 by the specification, 400 by the SDK's own example. */
  readonly lostSessionStatus?: 404 | 400;
  /** Requests for which this is true are never answered. */
  readonly ignores?: (request: { readonly method: string; readonly rpcMethod: string }) => boolean;
}

interface State {
  readonly options: McpServerOptions;
  readonly sessions: Map<string, StreamableHTTPServerTransport>;
  readonly streams: Set<ServerResponse>;
  readonly calls: McpCall[];
  readonly handshakes: IncomingHttpHeaders[];
  readonly lists: IncomingHttpHeaders[];
  readonly messages: string[];
  readonly servers: Map<StreamableHTTPServerTransport, McpServer>;
}

/** A real MCP server over streamable HTTP, with sessions. */
export async function startMcpServer(options: McpServerOptions): Promise<TestMcpServer> {
  const state: State = {
    options,
    sessions: new Map(),
    streams: new Set(),
    calls: [],
    handshakes: [],
    lists: [],
    messages: [],
    servers: new Map(),
  };
  let server = await listen(state, 0);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const transports = [...state.sessions.values()];
    state.sessions.clear();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    await Promise.all(transports.map((transport) => transport.close()));
  };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls: state.calls,
    handshakes: state.handshakes,
    lists: state.lists,
    messages: state.messages,
    announceChange: async () => {
      for (const transport of state.sessions.values()) await state.servers.get(transport)?.server.sendToolListChanged();
    },
    openSessions: () => state.sessions.size,
    openStreams: () => state.streams.size,
    restart: async () => {
      await stop();
      server = await listen(state, port);
    },
    stop,
    close: stop,
  };
}

async function listen(state: State, port: number): Promise<Server> {
  const server = createServer((request, response) => void answer(state, request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readJson(request);
  const rpcMethod = (body as { method?: string } | undefined)?.method ?? '';
  if (rpcMethod !== '') state.messages.push(rpcMethod);
  if (state.options.ignores?.({ method: request.method ?? '', rpcMethod }) === true) return;
  if (request.method === 'GET') {
    state.streams.add(response);
    response.on('close', () => state.streams.delete(response));
  }
  const transport = await findTransport(state, request, body);
  if (transport === undefined) refuseSession(state.options.lostSessionStatus ?? 404, response);
  else await transport.handleRequest(request, response, body);
}

function refuseSession(status: 404 | 400, response: ServerResponse): void {
  const message = status === 404 ? 'Session not found' : 'Bad Request: No valid session ID provided';
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
}

async function findTransport(
  state: State,
  request: IncomingMessage,
  body: unknown,
): Promise<StreamableHTTPServerTransport | undefined> {
  const sessionId = request.headers['mcp-session-id'];
  if (sessionId !== undefined) return state.sessions.get(String(sessionId));
  if (!isInitializeRequest(body)) return undefined;
  state.handshakes.push(request.headers);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void state.sessions.set(id, transport),
    onsessionclosed: (id) => void state.sessions.delete(id),
  });
  const mcp = toolServer(state);
  state.servers.set(transport, mcp);
  await mcp.connect(transport);
  return transport;
}

function toolServer(state: State): McpServer {
  const { options } = state;
  const mcp = new McpServer({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  // Below the high-level API, so that a test may answer what no proper server would.
  mcp.server.setRequestHandler(ListToolsRequestSchema, ({ params }, extra) => {
    const headers = extra.requestInfo?.headers ?? {};
    state.lists.push(headers);
    return pageOf(options.tools?.(headers) ?? [], options.pageSize ?? Infinity, Number(params?.cursor ?? 0));
  });
  mcp.server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const call: McpCall = {
      name: params.name,
      arguments: params.arguments ?? {},
      meta: params._meta ?? {},
      headers: extra.requestInfo?.headers ?? {},
      progress: () =>
        extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: params._meta?.progressToken ?? 'none', progress: nextProgress++ },
        }),
    };
    state.calls.push(call);
    return options.answer(call);
  });
  return mcp;
}

let nextProgress = 1;

function pageOf(all: readonly ServedTool[], size: number, start: number): ListToolsResult {
  const tools = all.slice(start, start + size).map((tool) => ({ inputSchema: { type: 'object' as const }, ...tool }));
  return {
    tools: tools as ListToolsResult['tools'],
    ...(start + size < all.length ? { nextCursor: String(start + size) } : {}),
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

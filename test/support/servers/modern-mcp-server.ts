import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

import { type CallToolResult, createMcpHandler, type ListToolsResult, McpServer } from '@modelcontextprotocol/server';

import type { ServedTool } from './mcp-server';

export interface ModernCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly meta: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  /** Aborts when the client gave the call up. */
  readonly signal: AbortSignal;
  readonly progress: () => Promise<void>;
}

export interface ModernMcpServer {
  readonly url: string;
  readonly calls: readonly ModernCall[];
  /** The method of every JSON-RPC message that arrived. */
  readonly messages: readonly string[];
  /** Tells every client that listens that the list of tools changed. */
  readonly announceChange: () => void;
  /** Cuts every connection. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

export interface ModernServerOptions {
  readonly tools: () => readonly ServedTool[];
  readonly answer: (call: ModernCall) => CallToolResult | Promise<CallToolResult>;
  /** How long a list holds, as the server says. */
  readonly listTtlMs?: number;
}

/** A real MCP server of the protocol 2026-07-28, which has no sessions and no handshake. */
export async function startModernMcpServer(options: ModernServerOptions): Promise<ModernMcpServer> {
  const calls: ModernCall[] = [];
  const messages: string[] = [];
  const headersOf = new WeakMap<Request, IncomingHttpHeaders>();
  const handler = createMcpHandler((context) => toolServer(options, calls, () => rawHeaders(headersOf, context)), {
    legacy: 'reject',
  });
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const request = await toRequest(incoming, outgoing, messages);
      headersOf.set(request, incoming.headers);
      await send(await handler.fetch(request), outgoing);
    })().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    messages,
    announceChange: () => handler.notify.toolsChanged(),
    cut: () => server.closeAllConnections(),
    close: async () => {
      await handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function rawHeaders(
  known: WeakMap<Request, IncomingHttpHeaders>,
  { requestInfo }: { readonly requestInfo?: Request },
): IncomingHttpHeaders {
  return (requestInfo === undefined ? undefined : known.get(requestInfo)) ?? {};
}

let nextProgress = 1;

function toolServer(options: ModernServerOptions, calls: ModernCall[], headers: () => IncomingHttpHeaders): McpServer {
  const { listTtlMs } = options;
  const mcp = new McpServer(
    { name: 'modern', version: '1.0.0' },
    {
      capabilities: { tools: { listChanged: true } },
      ...(listTtlMs === undefined ? {} : { cacheHints: { 'tools/list': { ttlMs: listTtlMs } } }),
    },
  );
  mcp.server.setRequestHandler('tools/list', () => ({
    tools: options
      .tools()
      .map((tool) => ({ inputSchema: { type: 'object' }, ...tool })) as unknown as ListToolsResult['tools'],
  }));
  mcp.server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    const meta = mcpReq._meta ?? {};
    const call: ModernCall = {
      name: params.name,
      arguments: params.arguments ?? {},
      meta,
      headers: headers(),
      signal: mcpReq.signal,
      progress: () =>
        mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: meta.progressToken ?? 'none', progress: nextProgress++ },
        }),
    };
    calls.push(call);
    return options.answer(call);
  });
  return mcp;
}

async function toRequest(incoming: IncomingMessage, outgoing: ServerResponse, messages: string[]): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  if (body !== '') messages.push((JSON.parse(body) as { method?: string }).method ?? '');
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  return new Request(`http://127.0.0.1${incoming.url ?? '/'}`, {
    method: incoming.method,
    headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
    signal: gone.signal,
    ...(body === '' ? {} : { body }),
  });
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers.entries()));
  if (response.body === null) return void outgoing.end();
  outgoing.flushHeaders();
  for await (const chunk of Readable.fromWeb(response.body as never)) outgoing.write(chunk);
  outgoing.end();
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { type WebSocket, WebSocketServer } from 'ws';

export interface OldMcpServer {
  readonly url: string;
  /** The Authorization header of every connection. */
  readonly authorizations: readonly (string | undefined)[];
  readonly close: () => Promise<void>;
}

/** A server with one tool, `stock`. */
function toolServer(): McpServer {
  const mcp = new McpServer({ name: 'old', version: '1.0.0' });
  mcp.registerTool('stock', { description: 'Counts parts' }, () => ({ content: [{ type: 'text', text: '7 parts' }] }));
  return mcp;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/* eslint-disable @typescript-eslint/no-deprecated -- the old transport is what is tested */
/** HTTP with server-sent events, as in the protocol of 2024-11-05. */
export async function startSseServer(): Promise<OldMcpServer> {
  const authorizations: (string | undefined)[] = [];
  const open = new Map<string, SSEServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'POST') {
      await open.get(url.searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response);
      return;
    }
    authorizations.push(request.headers.authorization);
    const transport = new SSEServerTransport('/messages', response);
    open.set(transport.sessionId, transport);
    await toolServer().connect(transport);
  };
  const server = createServer((request, response) => void answer(request, response));
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}/sse`, authorizations, close: () => stop(server) };
}

/** JSON-RPC over a WebSocket, one message a frame. */
export async function startWebSocketServer(): Promise<OldMcpServer & { readonly drop: () => void }> {
  const authorizations: (string | undefined)[] = [];
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, request) => {
    authorizations.push(request.headers.authorization);
    void toolServer().connect(overSocket(socket));
  });
  const port = await listen(server);
  const drop = (): void => {
    for (const socket of sockets.clients) socket.terminate();
  };
  return {
    url: `ws://127.0.0.1:${port}`,
    authorizations,
    drop,
    close: () => {
      drop();
      return stop(server);
    },
  };
}

function overSocket(socket: WebSocket): Transport {
  const transport: Transport = {
    start: () => {
      socket.on('message', (data: Buffer) => {
        transport.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(data.toString())));
      });
      socket.on('close', () => transport.onclose?.());
      return Promise.resolve();
    },
    send: (message) => {
      socket.send(JSON.stringify(message));
      return Promise.resolve();
    },
    close: () => {
      socket.close();
      return Promise.resolve();
    },
  };
  return transport;
}

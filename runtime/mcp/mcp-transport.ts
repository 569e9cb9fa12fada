import type { ToolSettings, ToolTransport, TransportCall, TransportReply } from '../contracts/tool-transport';
import { startDeadline, untilAborted } from '../util/abort';
import { clipText } from '../util/clip-text';
import { createMcpClientPool, type McpClientPool, type McpServerKey } from './client-pool';
import type { connectMcp, McpConnection, McpContent, McpToolResult } from './connect';

export interface McpTransportOptions {
  readonly maxConnections: number;
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
}

/** Tools on real MCP servers over streamable HTTP: one row names the server's URL and the tool. */
export function createMcpTransport(options: McpTransportOptions): ToolTransport {
  const closing = new AbortController();
  const pool = createMcpClientPool({
    ...options,
    connect: (server, onClose) => {
      const deadline = startDeadline(options.connectTimeoutMs, closing.signal);
      return connect({ ...server, onClose, signal: deadline.signal }).finally(deadline.dispose);
    },
  });
  return {
    call: (settings, call) => callTool(pool, settings, call),
    close: () => {
      closing.abort();
      return pool.close();
    },
  };
}

/** The SDK is loaded with the first MCP tool: most runs have none, and it is half of our bundle. */
async function connect(request: Parameters<typeof connectMcp>[0]): Promise<McpConnection> {
  const sdk = await import('./connect');
  return sdk.connectMcp(request);
}

async function callTool(pool: McpClientPool, settings: ToolSettings, call: TransportCall): Promise<TransportReply> {
  const server: McpServerKey = {
    tenantId: call.meta.tenant_id,
    url: settings.endpoint,
    headers: {
      ...settings.headers,
      ...(settings.authHeader === undefined ? {} : { authorization: settings.authHeader }),
    },
  };
  const result = await callOnce(pool, server, { settings, call }).catch(async (error: unknown) => {
    const { isLostSession } = await import('./connect');
    // A server that was restarted refuses the old session before it executes anything.
    if (!isLostSession(error)) throw error;
    return callOnce(pool, server, { settings, call });
  });
  return toReply(result, call.maxOutputBytes);
}

function callOnce(
  pool: McpClientPool,
  server: McpServerKey,
  { settings, call }: { readonly settings: ToolSettings; readonly call: TransportCall },
): Promise<McpToolResult> {
  return pool.use(server, async (connecting) => {
    // A shared handshake goes on for the others when one caller gives up.
    const connection = await untilAborted(connecting, call.signal);
    try {
      return await connection.callTool({
        name: settings.mcpTool,
        arguments: call.input,
        context: { ...call.meta },
        signal: call.signal,
      });
    } catch (error) {
      // An answer of the server, also an error, leaves the connection as it is.
      if (!call.signal.aborted && (error as { name?: unknown }).name !== 'McpError') pool.drop(server, connection);
      throw error;
    }
  });
}

function toReply(result: McpToolResult, maxOutputBytes: number): TransportReply {
  const text =
    result.structuredContent === undefined || result.isError === true
      ? (result.content ?? []).map(contentText).join('\n')
      : JSON.stringify(result.structuredContent);
  const reply = { ...clipText(text, maxOutputBytes), isPlainText: true };
  return result.isError === true ? { ...reply, failure: { code: 'TOOL_FAILED' } } : reply;
}

/** Text as it is, JSON of old servers as text, everything else as a placeholder: a model cannot read base64. */
function contentText(part: McpContent): string {
  if (typeof part.text === 'string') return part.text;
  if (part.json !== undefined) return JSON.stringify(part.json);
  return `[${part.type}${part.mimeType === undefined ? '' : ` ${part.mimeType}`}]`;
}

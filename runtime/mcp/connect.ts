import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { untilAborted } from '../util/abort';
import type { JsonObject } from '../util/json';

/** One live connection to a server. The only file that knows the MCP SDK is this one. */
export interface McpConnection {
  readonly callTool: (request: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly context: JsonObject;
    readonly signal: AbortSignal;
  }) => Promise<McpToolResult>;
  readonly close: () => Promise<void>;
}

export interface McpToolResult {
  readonly content?: readonly McpContent[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
}

export type McpContent = {
  readonly type: string;
  readonly text?: string;
  readonly json?: unknown;
  readonly mimeType?: string;
};

/** Trusted facts of the run stand under this key of the call's `_meta`. */
export const CONTEXT_KEY = 'universal-ai-agent/context';

/** The SDK has no "never"; the signal that we pass carries the real deadline. */
const LONGER_THAN_ANY_CALL_MS = 3_600_000;

/** A server that hangs must not hold up the end of the process. */
const CLOSE_GRACE_MS = 1000;

/** Opens a streamable HTTP connection and does the handshake. */
export async function connectMcp(server: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly onClose: () => void;
  readonly signal: AbortSignal;
}): Promise<McpConnection> {
  const client = new Client({ name: 'universal-ai-agent', version: '0.1.0' });
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { ...server.headers }, redirect: 'error' },
  });
  client.onclose = server.onClose;
  // Errors of single calls reject the calls; this hook would only report them twice.
  client.onerror = () => undefined;
  await client.connect(transport, { signal: server.signal, timeout: LONGER_THAN_ANY_CALL_MS });
  return {
    callTool: async (request) => {
      const result = await client.callTool(
        { name: request.name, arguments: { ...request.arguments }, _meta: { [CONTEXT_KEY]: request.context } },
        undefined,
        { signal: request.signal, timeout: LONGER_THAN_ANY_CALL_MS },
      );
      return result as McpToolResult;
    },
    close: async () => {
      // Ends the session on the server; servers without sessions refuse, which is as good.
      const grace = AbortSignal.timeout(CLOSE_GRACE_MS);
      await untilAborted(transport.terminateSession(), grace).catch(() => undefined);
      await client.close();
    },
  };
}

/**
 * True when the server no longer knows our session, and so has not executed the request. The specification says 404;
 * many servers follow the SDK's example and send 400 with a sentence.
 */
export function isLostSession(error: unknown): boolean {
  if (!(error instanceof StreamableHTTPError)) return false;
  return error.code === 404 || (error.code === 400 && /session|not initialized/i.test(error.message));
}

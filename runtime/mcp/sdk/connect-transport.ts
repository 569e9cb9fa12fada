import {
  type AuthProvider,
  type OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import type { McpServer } from '../../contracts/tools/mcp';
import type { ConnectRequest } from '../connection';
import { shareRefreshes } from '../oauth/share-refreshes';
import { WebSocketTransport } from '../websocket-transport';
import { STREAM_LOST } from './connect-failures';

/** What a connection proves itself with. */
export interface Credential {
  readonly provider: OAuthClientProvider | undefined;
  readonly renewable: RenewableToken | undefined;
}

/** What is overlooked with old servers, once it is known that one is old. */
export interface Leniency {
  readonly isLegacy?: boolean;
  readonly skipIssuerMetadataValidation?: boolean;
}

/** The way to a server: streamable HTTP, server-sent events, a WebSocket, or a process. */
export async function createTransport(
  request: ConnectRequest,
  { provider, renewable }: Credential,
  { skipIssuerMetadataValidation }: Leniency,
): Promise<Transport> {
  const { server, fetch } = request;
  if (server.transport === 'stdio') return createStdio(request);
  const url = new URL(server.url);
  const headers = staticHeaders(server);
  if (server.transport === 'websocket') return new WebSocketTransport(url, headers) as Transport;
  const options = {
    fetch: shareRefreshes(fetch),
    authProvider: provider ?? renewable?.provider,
    requestInit: { headers },
    skipIssuerMetadataValidation,
  };
  // Old servers speak nothing else, so it stays as long as the SDK has it.
  if (server.transport === 'sse') return new SSEClientTransport(url, options);
  return noticingLostStreams(new StreamableHTTPClientTransport(url, options));
}

/** Starts a process from the operator's list, without a shell and with next to no environment. */
async function createStdio({ server, stdioCommands }: ConnectRequest): Promise<Transport> {
  const allowed = stdioCommands.find((words) => JSON.stringify(words) === server.url);
  const [command, ...args] = allowed ?? [];
  if (command === undefined) throw new Error('its command line is not in the list of those that may be started');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  return new StdioClientTransport({ command, args, stderr: 'ignore' });
}

interface RenewableToken {
  readonly provider: AuthProvider;
  readonly secrets: () => readonly string[];
}

/** A bearer token that somebody else keeps, and can renew. */
export function renewableToken({ server: { auth }, renewToken }: ConnectRequest): RenewableToken | undefined {
  if (auth.kind !== 'bearer') return undefined;
  let { token } = auth;
  let renewing: Promise<string | undefined> | undefined;
  const renew = async (): Promise<void> => {
    // Calls that are refused together ask once. Whatever keeps another token from coming, this one is refused.
    renewing ??= renewToken?.().catch(() => undefined);
    const renewed = await renewing;
    renewing = undefined;
    if (renewed === undefined) throw new UnauthorizedError('the token is refused');
    token = renewed;
  };
  return {
    provider: { token: () => Promise.resolve(token), onUnauthorized: renew },
    secrets: () => [token],
  };
}

/** The SDK lets a call wait for its time-out when the stream of its answer breaks off; this answers it. */
function noticingLostStreams(transport: StreamableHTTPClientTransport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (Array.isArray(message) || !('id' in message) || !('method' in message)) return send(message, options);
    const { id } = message;
    const error = { code: STREAM_LOST, message: 'the connection was lost before the answer came' };
    return send(message, {
      ...options,
      // Also at a proper end; then nobody waits for this answer any more.
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        transport.onmessage?.({ jsonrpc: '2.0', id, error });
      },
    });
  };
  return transport;
}

/** The headers that a credential without OAuth consists of. */
function staticHeaders({ auth }: McpServer): Record<string, string> {
  if (auth.kind === 'bearer') return { authorization: `Bearer ${auth.token}` };
  return auth.kind === 'headers' ? { ...auth.headers } : {};
}

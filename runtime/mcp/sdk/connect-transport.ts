import {
  type AuthProvider,
  type OAuthClientProvider,
  type ReconnectionScheduler,
  SSEClientTransport,
  type SSEClientTransportOptions,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import type { McpServer } from '../../contracts/tools/mcp';
import { after } from '../../util/clock';
import type { ConnectRequest } from '../connection';
import type { Fetch } from '../http-fetch';
import { shareRefreshes } from '../oauth/share-refreshes';
import { WebSocketTransport } from '../websocket-transport';
import { boundTransport } from './bounded-transport';

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
export async function createTransport(...given: Parameters<typeof openTransport>): Promise<Transport> {
  return boundTransport(await openTransport(...given));
}

async function openTransport(
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
  if (server.transport === 'sse') return onOneStream(url, options);
  return new StreamableHTTPClientTransport(url, { ...options, reconnectionScheduler: scheduleReconnection });
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

/**
 * Creates a transport of server-sent events that closes when its stream ends. The SDK's reopens the stream as soon as the
 * server likes, although the session is over.
 */
function onOneStream(url: URL, options: SSEClientTransportOptions): SSEClientTransport {
  let isOpen = false;
  const fetchOnce: Fetch = async (target, init) => {
    const isStream = init?.method === undefined && String(target) === url.href;
    if (isStream && isOpen) {
      void transport.close();
      throw new Error('the stream of events ended');
    }
    const response = await (options.fetch as Fetch)(target, init);
    isOpen ||= isStream && response.ok;
    return response;
  };
  const transport = new SSEClientTransport(url, { ...options, fetch: fetchOnce });
  return transport;
}

/** Minimum wait before a stream that the server ended is reopened. The conformance suite asks for 500 ms, and to be obeyed. */
const MIN_RECONNECT_MS = 250;

export const scheduleReconnection: ReconnectionScheduler = (reconnect, delayMs) =>
  after(Math.max(delayMs, MIN_RECONNECT_MS), reconnect);

/** The headers that a credential without OAuth consists of. */
function staticHeaders({ auth }: McpServer): Record<string, string> {
  if (auth.kind === 'bearer') return { authorization: `Bearer ${auth.token}` };
  return auth.kind === 'headers' ? { ...auth.headers } : {};
}

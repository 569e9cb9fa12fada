import { LRUCache } from 'lru-cache';

import type { McpServer, McpServerInput, McpServerRow, McpStore } from '../contracts/tools/mcp';
import type { ToolSettings, ToolTransport } from '../contracts/tools/tool-transport';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { startDeadline, untilAborted } from '../util/abort';
import { checkHealth, type ServerHealth } from './check-health';
import { createMcpClientPool, type McpClientPool, targetKey } from './client-pool';
import type { ConnectRequest, McpConnection, McpTarget } from './connection';
import { createHttpClient } from './http-fetch';
import { createMcpTransport } from './mcp-transport';
import type { BrowserLogin } from './oauth/oauth-provider';
import { createOAuthStores, type StateSealer } from './oauth/oauth-stores';
import { type McpServerDefaults, readMcpServer } from './read-server';
import type { CheckSchema, ReadTools } from './read-tools';
import { credentialSecrets } from './server-errors';
import { createToolDirectory } from './tool-directory';

export interface McpServersOptions extends McpServerDefaults {
  readonly maxConnections: number;
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
  readonly store: McpStore | undefined;
  readonly sealer: StateSealer | undefined;
  /** The command lines that the transport stdio may start, word for word. */
  readonly stdioCommands: readonly (readonly string[])[];
  readonly checkSchema: CheckSchema;
  /** How a person logs in; only where there is one. */
  readonly login?: BrowserLogin;
}

/** A server of a tenant: a row of the database, or as it was given with the run. */
export type TenantServer = McpServerRow | McpServerInput;

/** What one server gives a run. `server` is undefined when its settings cannot be used. */
export interface ServerOffer extends ReadTools {
  readonly server: McpServer | undefined;
}

interface DiscoverRequest {
  readonly tenantId: string;
  readonly servers: readonly TenantServer[];
  readonly signal: AbortSignal;
}

/** Everything about MCP: connections, lists of tools, calls. */
export interface McpServers {
  /** Calls of tools. Also of rows of the catalogue that name an MCP server themselves. */
  readonly transport: ToolTransport;
  /** All servers at once; each within its deadline. One that fails gives a warning and no tools. */
  readonly discover: (
    request: DiscoverRequest & { readonly isWanted: (server: McpServer) => boolean },
  ) => Promise<readonly ServerOffer[]>;
  /** The same, asking every server again. */
  readonly refresh: (request: DiscoverRequest) => Promise<readonly ServerOffer[]>;
  /** Connects, pings each server, and lists its tools again. */
  readonly health: (request: DiscoverRequest) => Promise<readonly ServerHealth[]>;
  /** Closes the connections to these servers; the next call makes new ones. */
  readonly disconnect: (request: Omit<DiscoverRequest, 'signal'>) => void;
  readonly close: () => Promise<void>;
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const closing = new AbortController();
  const patienceMs = options.login === undefined ? 0 : LOGIN_PATIENCE_MS;
  const http = createHttpClient(options.maxConnections + MAX_OPEN_CALLS);
  /** The latest run's way to another token, for connections that outlive the run that made them. */
  const renewals = new LRUCache<string, RenewToken>({ max: 100, ttl: options.idleMs, ttlAutopurge: true });
  const storeFor = createOAuthStores(options.store, options.sealer);
  const pool = createMcpClientPool({
    ...options,
    connect: (target, onClose) => {
      const deadline = startDeadline(Math.max(options.connectTimeoutMs, patienceMs), closing.signal);
      const connecting = connect({
        server: target.server,
        fetch: http.fetchFor(target.server),
        oauthStore: storeFor(target),
        renewToken: () => renewals.get(targetKey(target))?.() ?? Promise.resolve(undefined),
        login: options.login,
        stdioCommands: options.stdioCommands,
        onClose,
        onToolsChanged: () => directory.markChanged(target),
        signal: deadline.signal,
      });
      return untilAborted(connecting, deadline.signal).finally(deadline.dispose);
    },
  });
  const directory = createToolDirectory({ ...options, pool, closing: closing.signal });
  const readOne = readOnce(options, patienceMs);
  const read = (tenantId: string, row: TenantServer): McpServer | ErrorSummary => {
    const server = readOne(row);
    const renewToken = 'renewToken' in row ? row.renewToken : undefined;
    if (renewToken !== undefined && !('code' in server)) renewals.set(targetKey({ tenantId, server }), renewToken);
    return server;
  };

  return {
    transport: createMcpTransport(pool, readCatalogueRow(options)),
    discover: (request) =>
      offers(read, request, (target, row) =>
        request.isWanted(target.server) ? directory.toolsOf(target, storedTools(row), request.signal) : undefined,
      ),
    refresh: (request) => offers(read, request, (target) => directory.refresh(target, request.signal)),
    health: (request) =>
      Promise.all(request.servers.map((row) => checkHealth({ pool, read, directory }, request, row))),
    disconnect: (request) => disconnect(pool, read, request),
    close: async () => {
      closing.abort();
      await pool.close();
      await http.close();
    },
  };
}

function disconnect(
  pool: McpClientPool,
  read: ReadTenantServer,
  { tenantId, servers }: Omit<DiscoverRequest, 'signal'>,
): void {
  for (const row of servers) {
    const server = read(tenantId, row);
    if (!('code' in server)) pool.drop({ tenantId, server });
  }
}

/** What each server gives; `toolsOf` says undefined for one that is not asked. */
function offers(
  read: ReadTenantServer,
  { tenantId, servers }: DiscoverRequest,
  toolsOf: (target: McpTarget, row: TenantServer) => Promise<ReadTools> | undefined,
): Promise<readonly ServerOffer[]> {
  return Promise.all(
    servers.map(async (row): Promise<ServerOffer> => {
      const server = read(tenantId, row);
      if ('code' in server) return invalidOffer(server);
      return { server, ...((await toolsOf({ tenantId, server }, row)) ?? NOTHING) };
    }),
  );
}

/** The SDK is loaded with the first server: most runs have none, and it is half of our bundle. */
async function connect(request: ConnectRequest): Promise<McpConnection> {
  const sdk = await import('./sdk/connect');
  return sdk.connectMcp(request);
}

function storedTools(row: TenantServer): { isFresh: boolean; tools: McpServerRow['tools'] } | undefined {
  return row.tools === undefined ? undefined : { isFresh: row.isListFresh === true, tools: row.tools };
}

const invalidOffers = new WeakMap<ErrorSummary, ServerOffer>();

function invalidOffer(warning: ErrorSummary): ServerOffer {
  const offer = invalidOffers.get(warning) ?? { server: undefined, tools: [], warnings: [warning] };
  invalidOffers.set(warning, offer);
  return offer;
}

/** One object, since a run that finds the same as before builds nothing. */
const NOTHING: ReadTools = { tools: [], warnings: [] };

const REMEMBERED_SERVERS = 1000;

/** Limit of concurrent requests to one host, besides one open stream per connection. */
const MAX_OPEN_CALLS = 256;

/** So long a person may take to log in. */
const LOGIN_PATIENCE_MS = 300_000;

type RenewToken = NonNullable<McpServerInput['renewToken']>;
type ReadServer = (row: TenantServer) => McpServer | ErrorSummary;
type ReadTenantServer = (tenantId: string, row: TenantServer) => McpServer | ErrorSummary;

/** The same settings give the same server again, so that a warm run builds nothing. */
function readOnce(defaults: McpServerDefaults, patienceMs: number): ReadServer {
  const ofRows = new WeakMap<TenantServer, McpServer | ErrorSummary>();
  const given = new LRUCache<string, McpServer | ErrorSummary>({ max: REMEMBERED_SERVERS });
  return (row) => {
    const before = ofRows.get(row);
    if (before !== undefined) return before;
    // What is given with a run is a new object every time.
    const key = row.id === undefined ? JSON.stringify(row) : undefined;
    const server = (key === undefined ? undefined : given.get(key)) ?? readOrExplain(row, defaults, patienceMs);
    ofRows.set(row, server);
    if (key !== undefined) given.set(key, server);
    return server;
  };
}

function readOrExplain(row: TenantServer, defaults: McpServerDefaults, patienceMs: number): McpServer | ErrorSummary {
  try {
    const server = readMcpServer(row, defaults);
    // Rows come with their secrets in place of the names; a server given with the run has no vault.
    if (credentialSecrets(server.auth).some(isUnopened))
      throw new Error('its auth names a vault secret that was not opened');
    return { ...server, discoveryTimeoutMs: Math.max(server.discoveryTimeoutMs, patienceMs) };
  } catch (error) {
    return describeError('MCP_SERVER_INVALID', { server: row.name, reason: errorText(error) });
  }
}

function isUnopened(secret: string | undefined): boolean {
  return secret !== undefined && /^\s*(?:\S+\s+)?vault:/i.test(secret);
}

/** The server that a single row of the catalogue names by its URL. */
function readCatalogueRow(defaults: McpServerDefaults): (settings: ToolSettings) => McpServer {
  const known = new WeakMap<ToolSettings, McpServer>();
  return (settings) => {
    const before = known.get(settings);
    if (before !== undefined) return before;
    const { authHeader, headers, endpoint: url } = settings;
    const all = { ...headers, ...(authHeader === undefined ? {} : { authorization: authHeader }) };
    const server = {
      ...readMcpServer({ name: 'catalogue', url }, defaults),
      auth: { kind: 'headers', headers: all } as const,
    };
    known.set(settings, server);
    return server;
  };
}

import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import type { ServerHealth } from '../../mcp/check-health';
import { type McpServerDefaults, readMcpServer } from '../../mcp/read-server';
import type { Postgres } from '../../storage/postgres/pool';
import { listServers, removeServer, resetConnections, type ServerEntry } from '../../storage/sql/admin/list-servers';
import { type AddedServer, addMcpServerStatement, approveMcpToolsStatement } from '../../storage/sql/manage-mcp';
import type { Query } from '../../storage/statement';
import type { TenantTools } from '../../toolsets/tenant-tools';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { type AdminHost, checkAddress } from '../check-address';
import { objectField, readInput, tenantIdField } from '../read-input';
import { checkTenant } from '../runs';

interface OfServer {
  readonly tenantId: string;
  readonly server: string;
}

/** All servers of the tenant, or the one that is named. */
interface OfServers {
  readonly tenantId: string;
  readonly server?: string;
}

export interface NewServer {
  readonly tenantId: string;
  /** Stands before the names of its tools. */
  readonly name: string;
  /** Its address; the command line as a JSON array of its words for the transport stdio. */
  readonly url: string;
  /** `http` (default), `sse`, `websocket` or `stdio`. */
  readonly transport?: string;
  /** The credential as docs/mcp.md has it: `{kind: 'bearer', token: 'vault:NAME'}`. */
  readonly auth?: JsonObject;
  /** What a changed or new tool gets. Default `accept`. */
  readonly onToolChange?: 'accept' | 'quarantine';
}

/** The MCP servers of tenants. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, MCP_SERVER_UNKNOWN or a DB_ code. */
export interface McpServerAdmin {
  readonly list: (query: { readonly tenantId: string }) => Promise<{ readonly servers: readonly ServerEntry[] }>;
  /**
   * Registers a server and lets the tenant use it. Rejects with MCP_SERVER_INVALID, ADDRESS_FORBIDDEN, or MCP_SERVER_EXISTS
   * for a name that has another address.
   */
  readonly add: (server: NewServer, host?: AdminHost) => Promise<Omit<OfServer, 'tenantId'> & AddedServer>;
  /** Asks for the lists of tools again. */
  readonly refresh: (query: OfServers, host?: AdminHost) => ReturnType<TenantTools['refresh']>;
  /** Approves tools that are new or changed: those named, else all of the server. */
  readonly approve: (query: OfServer & { readonly tools?: readonly string[] }) => Promise<{
    readonly approved: readonly string[];
  }>;
  /** Connects to each, and lists its tools. */
  readonly health: (query: OfServers, host?: AdminHost) => Promise<{ readonly servers: readonly ServerHealth[] }>;
  /** Makes every process open new connections with its next call, and ask for the lists again, also in runs under way. */
  readonly disconnect: (query: OfServers) => Promise<{ readonly disconnected: readonly string[] }>;
  /** Takes it from the tenant; it is forgotten when no other tenant uses it. */
  readonly remove: (query: OfServer) => Promise<{ readonly server: string; readonly removed: true }>;
}

const servers = { tenantId: tenantIdField, server: z.string().min(1).optional() };
const server = { tenantId: tenantIdField, server: z.string().min(1) };
const SHAPES = {
  list: strictObject({ tenantId: tenantIdField }),
  servers: strictObject(servers),
  server: strictObject(server),
  approve: strictObject({ ...server, tools: z.array(z.string()).optional() }),
  add: strictObject({
    tenantId: tenantIdField,
    name: z.string(),
    url: z.string().max(2000),
    transport: z.enum(['http', 'sse', 'websocket', 'stdio']).default('http'),
    auth: objectField.optional(),
    onToolChange: z.enum(['accept', 'quarantine']).optional(),
  }),
};

interface Servers {
  readonly postgres: Postgres;
  readonly tenantTools: TenantTools;
  readonly defaults: McpServerDefaults;
}

export function createMcpServerAdmin({ postgres: { query }, tenantTools, defaults }: Servers): McpServerAdmin {
  return {
    list: async (input) => {
      const { tenantId } = readInput(SHAPES.list, input, 'mcp list');
      await checkTenant(query, tenantId);
      return { servers: await query<ServerEntry>(listServers({ tenantId })) };
    },
    add: async (input, host = {}) => {
      const { onToolChange, ...given } = readInput(SHAPES.add, input, 'mcp add');
      checkServer(given, defaults);
      if (given.transport !== 'stdio') await checkAddress(given.url, host);
      const [added] = await query<AddedServer>(addMcpServerStatement({ ...given, policy: onToolChange }));
      const { tenantId, name, url, transport } = given;
      if (added === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
      if (added.url !== url || added.transport !== transport) {
        throw new RuntimeError('MCP_SERVER_EXISTS', { server: name, url: added.url });
      }
      return { server: name, url, transport };
    },
    refresh: async (input, host) => tenantTools.refresh(await toAsk(query, 'mcp refresh', { input, host })),
    approve: async (input) => {
      const given = readInput(SHAPES.approve, input, 'mcp approve');
      const { tenantId, server } = given;
      const servers = await query<ServerEntry>(listServers({ tenantId }));
      if (!servers.some((one) => one.server === server))
        throw new RuntimeError('MCP_SERVER_UNKNOWN', { tenantId, server });
      const rows = await query<{ name: string }>(approveMcpToolsStatement(given));
      return { approved: rows.map(({ name }) => name) };
    },
    health: async (input, host) => ({
      servers: await tenantTools.health(await toAsk(query, 'mcp health', { input, host })),
    }),
    disconnect: async (input) => {
      const given = readInput(SHAPES.servers, input, 'mcp disconnect');
      const disconnected = await reset(query, given);
      // Those of this process need not wait until they are idle.
      await tenantTools.disconnect(given).catch(() => []);
      return { disconnected };
    },
    remove: async (input) => {
      const given = readInput(SHAPES.server, input, 'mcp remove');
      await tenantTools.disconnect(given).catch(() => []);
      const rows = await query(removeServer(given));
      if (rows.length === 0) throw new RuntimeError('MCP_SERVER_UNKNOWN', given);
      return { server: given.server, removed: true };
    },
  };
}

/** Throws TENANT_NOT_FOUND or MCP_SERVER_UNKNOWN. */
async function reset(query: Query, given: OfServers): Promise<readonly string[]> {
  const { tenantId, server } = given;
  await checkTenant(query, tenantId);
  const rows = await query<{ server: string }>(resetConnections(given));
  if (rows.length === 0 && server !== undefined) throw new RuntimeError('MCP_SERVER_UNKNOWN', { tenantId, server });
  return rows.map((row) => row.server);
}

async function toAsk(
  query: Query,
  operation: string,
  { input, host = {} }: { readonly input: unknown; readonly host?: AdminHost },
): Promise<OfServers> {
  const given = readInput(SHAPES.servers, input, operation);
  await checkServers(query, given, host);
  return given;
}

/** Throws ADDRESS_FORBIDDEN for a server that the rules of the host keep us from. */
export async function checkServers(query: Query, { tenantId, server }: OfServers, host: AdminHost): Promise<void> {
  if (host.egress === undefined) return;
  for (const row of await query<ServerEntry>(listServers({ tenantId }))) {
    const isAsked = row.is_enabled && row.transport !== 'stdio' && (server === undefined || row.server === server);
    if (isAsked) await checkAddress(row.url, host);
  }
}

function checkServer(given: Parameters<typeof readMcpServer>[0], defaults: McpServerDefaults): void {
  try {
    readMcpServer(given, defaults);
  } catch (error) {
    throw new RuntimeError('MCP_SERVER_INVALID', { server: given.name, reason: errorText(error) });
  }
}

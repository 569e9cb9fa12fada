import type { ServerHealth } from '../../mcp/check-health';
import type { LoginRow, ServerEntry } from '../../storage/sql/admin/list-servers';
import type { AddedServer } from '../../storage/sql/manage-mcp';
import type { TenantTools } from '../../toolsets/single-calls/tenant-tools';
import type { JsonObject } from '../../util/json';
import type { AdminHost } from './host';

export interface OfServer {
  readonly tenantId: string;
  readonly server: string;
}

/** All servers of the tenant, or the one that is named. */
export interface OfServers {
  readonly tenantId: string;
  readonly server?: string;
}

export interface NewServer {
  readonly tenantId: string;
  /** Stands before the names of its tools. */
  readonly name: string;
  /** Its address; the command line as a JSON array of its words for the transport stdio. */
  readonly url: string;
  /** How it is reached. */
  readonly transport?: string;
  /** The credential as docs/mcp.md has it: `{kind: 'bearer', token: 'vault:NAME'}`. */
  readonly auth?: JsonObject;
  /** Standing of a changed or new tool; `accept` if it is left out. */
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

/** A tenant's login at an MCP server. No token is told. */
export interface LoginEntry extends Pick<LoginRow, 'tenant_id' | 'server' | 'url'> {
  readonly key_id: string | null;
  /** True if the present vault key opens it. */
  readonly is_readable: boolean;
}

/** The OAuth logins of tenants. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, LOGIN_UNKNOWN or a DB_ code. */
export interface OAuthLoginAdmin {
  /** Lists those of one tenant, or of all. */
  readonly list: (query?: { readonly tenantId?: string }) => Promise<{ readonly logins: readonly LoginEntry[] }>;
  /** Forgets the tokens here: the next call of every process has none. The provider still knows them until they expire. */
  readonly revoke: (login: OfServer) => Promise<{ readonly server: string; readonly revoked: true }>;
}

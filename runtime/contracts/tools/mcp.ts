import type { RuntimeError } from '../../errors/runtime-error';
import type { JsonObject } from '../../util/json';

type McpTransportKind = 'http' | 'sse' | 'websocket' | 'stdio';

/** How a tenant proves to a server who it is. */
export type McpAuth =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | McpOAuth;

/** OAuth 2.1. Without a client id the client registers itself where the server allows it. */
export interface McpOAuth {
  readonly kind: 'oauth';
  readonly grant: 'authorization_code' | 'client_credentials' | 'cross_app_access' | 'jwt_bearer';
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Signs a JWT in place of a secret: a PEM text, and its algorithm. */
  readonly privateKey?: string;
  readonly algorithm?: string;
  /** `jwt_bearer`: the signed statement of who the workload is. */
  readonly assertion?: string;
  /** Tokens are bound to a key of ours. */
  readonly usesDpop: boolean;
  readonly scope?: string;
  /** The only authorization server that may be given the secret. Without it, the one that the server names. */
  readonly issuer?: string;
  /** An https URL of a client metadata document, which stands in for registration. */
  readonly clientMetadataUrl?: string;
  /** `cross_app_access`: the identity provider that exchanges the tenant's ID token for a grant. */
  readonly idp?: { readonly tokenUrl: string; readonly clientId: string; readonly idToken: string };
}

/** A server that a run may use: registered in the database, or given with the run. */
export interface McpServer {
  /** The row's id; undefined for a server given with the run. */
  readonly id?: number;
  /** Stands before the names of its tools. */
  readonly name: string;
  /** The address; for stdio the command line, as a JSON array of its words. */
  readonly url: string;
  readonly transport: McpTransportKind;
  readonly auth: McpAuth;
  /** Undefined means all of them; an empty list means none. Bare names. */
  readonly includeTools?: readonly string[];
  readonly excludeTools: readonly string[];
  /** Undefined means every tier. */
  readonly allowedTiers?: readonly string[];
  /** One deadline over connecting and listing. */
  readonly discoveryTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** How long a list of tools holds, unless the server says so itself. */
  readonly listTtlMs: number;
  /** Hosts beside the server's own that OAuth may be led to although their addresses are private. */
  readonly allowedHosts: readonly string[];
  /** Answers a server's questions with the defaults that it proposes; without it, servers cannot ask. */
  readonly answersWithDefaults: boolean;
  /** The resets of its row. */
  readonly resets?: number;
}

/** A tool as its server describes it. */
export interface McpTool {
  /** Its name on the server, which may be any text. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** May be called twice without harm: the server says that it only reads, or that repeating changes nothing. */
  readonly isRepeatable: boolean;
  /** The server says that it only reads. */
  readonly isReadOnly: boolean;
}

/** A registered tool that waits for approval, since it is not what was approved. */
export interface McpListedTool extends McpTool {
  readonly isQuarantined: boolean;
}

/** What the database knows of a tenant's server. */
export interface McpServerRow {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly transport: string;
  /** The tenant's credential, else the server's own. */
  readonly auth: JsonObject;
  readonly includeTools?: readonly string[];
  readonly excludeTools: readonly string[];
  readonly allowedTiers?: readonly string[];
  readonly settings: JsonObject;
  /** How often its connections were reset: those from before the last time are used no more. */
  readonly resets?: number;
  /** False before the first list and when the last one is too old. */
  readonly isListFresh: boolean;
  readonly tools: readonly McpListedTool[];
  /** Why a secret that the row names cannot be used; the server must not be asked then. */
  readonly secretFailure?: string;
  /** The same as an error of the vault, where it is one. */
  readonly vaultError?: RuntimeError;
}

interface ServerKey {
  readonly tenantId: string;
  readonly serverId: number;
}

/** Where lists of tools and OAuth state of registered servers are kept. Rejects with a DB_ code. */
export interface McpStore {
  /** Writes a new list and gives it back with what was decided on each tool. */
  readonly saveTools: (
    request: ServerKey & { readonly tools: readonly McpTool[]; readonly ttlMs: number },
  ) => Promise<readonly McpListedTool[]>;
  /** The OAuth state, as text that only its writer can read; undefined before the first login. */
  readonly loadOAuth: (request: ServerKey) => Promise<string | undefined>;
  /** False, and nothing written, when the state is no longer the one that was loaded: another process wrote it. */
  readonly saveOAuth: (
    request: ServerKey & { readonly state: string; readonly loaded: string | undefined },
  ) => Promise<boolean>;
}

/** What a server must have to be read: a row of the database has it, and so has a server given with a run. */
export type McpServerInput = Pick<McpServerRow, 'name' | 'url'> &
  Partial<Omit<McpServerRow, 'name' | 'url'>> & {
    /** Asked for another bearer token when the server refuses the one in `auth`. */
    readonly renewToken?: () => Promise<string | undefined>;
  };

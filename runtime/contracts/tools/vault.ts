/** The vault's table, and the columns whose plain text it takes in. Every method rejects with a DB_ code. */
export interface VaultStore {
  /** What a tenant's rows may name; without a tenant the shared ones. */
  readonly list: (tenantId: string | undefined) => Promise<readonly SecretRow[]>;
  /** False: there is no such tenant. */
  readonly set: (secret: NewSecret) => Promise<boolean>;
  /** False: there is no such secret. */
  readonly remove: (tenantId: string | undefined, name: string) => Promise<boolean>;
  readonly allSecrets: () => Promise<readonly SecretRow[]>;
  readonly allOAuthStates: () => Promise<readonly OAuthStateRow[]>;
  /** False, and nothing written, when another process changed it since. */
  readonly reseal: (row: SecretRow, sealed: string) => Promise<boolean>;
  readonly resealOAuth: (row: OAuthStateRow, state: string) => Promise<boolean>;
  /** The rows that may hold plain text. */
  readonly plainRows: () => Promise<readonly PlainPlace[]>;
  /** Runs `work` on the row as it is now, with the row locked; in one transaction with all that it writes. */
  readonly onPlainRow: (place: PlainPlace, work: (access: PlainAccess) => Promise<void>) => Promise<void>;
}

export interface PlainPlace {
  readonly column: PlainColumn;
  readonly row: PlainRow;
}

export interface PlainAccess {
  readonly row: PlainRow;
  readonly secretsNamed: (name: string) => Promise<readonly SecretRow[]>;
  /** False: somebody took the name. */
  readonly addSecret: (secret: NewSecret) => Promise<boolean>;
  readonly editJson: (json: string, edits: readonly JsonEdit[]) => Promise<string>;
  readonly replace: (content: string) => Promise<void>;
}

/** Another text at a place of a JSON document. */
export interface JsonEdit {
  readonly path: readonly string[];
  readonly text: string;
}

export interface SecretRow {
  readonly id: string;
  /** Null: shared. */
  readonly tenant_id: string | null;
  readonly name: string;
  readonly sealed: string;
  readonly updated_at: Date;
}

export interface NewSecret {
  readonly tenantId: string | undefined;
  readonly name: string;
  readonly sealed: string;
}

export interface OAuthStateRow {
  readonly tenant_id: string;
  readonly server_id: number;
  readonly server: string;
  readonly state: string;
}

/** A column that may hold secrets as plain text, and how its rows are told apart. */
export interface PlainColumn {
  readonly table: 'elo_agent_tools' | 'elo_t_tenant_tools' | 'elo_agent_mcp_servers' | 'elo_t_tenant_mcp_servers';
  readonly column: 'auth_header' | 'custom_config' | 'auth';
  /** What the row is for: a tool or a server. */
  readonly parent: 'elo_agent_tools' | 'elo_agent_mcp_servers';
  /** The column with the parent's id. */
  readonly key: 'id' | 'tool_id' | 'server_id';
  readonly isTenants: boolean;
}

export interface PlainRow {
  /** Null for a row that is for every tenant. */
  readonly tenant_id: string | null;
  /** The id of the tool or server. */
  readonly key: string;
  readonly code: string;
  /** The column as text, whatever its type. */
  readonly content: string;
  /** False for a row whose tenant is gone, which has no place in the vault. */
  readonly has_tenant: boolean;
}

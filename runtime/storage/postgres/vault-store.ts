import { createMcpStore } from './mcp-store';
import type { Postgres, Query, Statement } from './pool';
import {
  deleteSecretStatement,
  editJsonStatement,
  insertSecretStatement,
  listSecretsStatement,
  LOCK_NAMES,
  lockPlainStatement,
  PLAIN_COLUMNS,
  READ_OAUTH_STATES,
  readPlainStatement,
  readSecretsStatement,
  replacePlainStatement,
  resealStatement,
  upsertSecretStatement,
  type NewSecret,
  type OAuthStateRow,
  type PlainColumn,
  type PlainRow,
  type SecretRow,
} from '../sql/manage-secrets';

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
  readonly editJson: (json: string, edits: Parameters<typeof editJsonStatement>[1]) => Promise<string>;
  readonly replace: (content: string) => Promise<void>;
}

export function createVaultStore({ query, transaction }: Postgres): VaultStore {
  const { saveOAuth } = createMcpStore(query);
  /** A role that row-level security keeps rows from gets an error, not fewer rows: those left out would lose their key. */
  const seeingAll = <T>(work: (inside: Query) => Promise<T>): Promise<T> =>
    transaction(async (inside) => {
      await inside({ text: 'SET LOCAL row_security = off', values: [] });
      return work(inside);
    });
  const ask = <Row>(statement: Statement): Promise<readonly Row[]> => seeingAll((inside) => inside<Row>(statement));
  return {
    list: (tenantId) => ask(listSecretsStatement(tenantId)),
    set: async (secret) => (await ask(upsertSecretStatement(secret))).length > 0,
    remove: async (tenantId, name) => (await ask(deleteSecretStatement(tenantId, name))).length > 0,
    allSecrets: () => ask(readSecretsStatement()),
    allOAuthStates: () => ask(READ_OAUTH_STATES),
    reseal: async ({ id, sealed }, now) => (await query(resealStatement({ id, sealed, now }))).length > 0,
    resealOAuth: (row, state) =>
      saveOAuth({ tenantId: row.tenant_id, serverId: row.server_id, state, loaded: row.state }),
    plainRows: async () => {
      const places: PlainPlace[] = [];
      for (const column of PLAIN_COLUMNS) {
        const rows = await ask<PlainRow>(readPlainStatement(column));
        places.push(...rows.map((row) => ({ column, row })));
      }
      return places;
    },
    onPlainRow: ({ column, row }, work) =>
      seeingAll(async (inside) => {
        await inside(LOCK_NAMES);
        // An adopted table may hold a row twice.
        for (const now of await inside<PlainRow>(lockPlainStatement(column, row))) {
          await work(plainAccess(inside, column, now));
        }
      }),
  };
}

function plainAccess(query: Query, column: PlainColumn, row: PlainRow): PlainAccess {
  return {
    row,
    secretsNamed: (name) => query(readSecretsStatement(name)),
    addSecret: async (secret) => (await query(insertSecretStatement(secret))).length > 0,
    editJson: async (json, edits) => {
      const [edited] = await query<{ json: string }>(editJsonStatement(json, edits));
      return (edited as { json: string }).json;
    },
    replace: async (content) => {
      await query(replacePlainStatement(column, row, content));
    },
  };
}

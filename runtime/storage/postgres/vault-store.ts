import type { PlainAccess, PlainColumn, PlainPlace, PlainRow, VaultStore } from '../../contracts/tools/vault';
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
} from '../sql/manage-secrets';
import type { Query, Statement } from '../statement';
import { createMcpStore } from './mcp-store';
import type { Postgres } from './pool';

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
    list: (tenantId) => ask(listSecretsStatement({ tenantId })),
    set: async (secret) => (await ask(upsertSecretStatement(secret))).length > 0,
    remove: async (tenantId, name) => (await ask(deleteSecretStatement({ tenantId, name }))).length > 0,
    allSecrets: () => ask(readSecretsStatement({})),
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
    secretsNamed: (name) => query(readSecretsStatement({ name })),
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

import type { JsonEdit, NewSecret, PlainColumn, PlainRow } from '../../contracts/tools/vault';
import { type Statement, statement } from '../statement';
import { named } from './named';

const COLUMNS = 'id::text AS id, tenant_id::text AS tenant_id, name, sealed, updated_at';

/** The secrets that a tenant's rows may name, its own before shared ones; without a tenant the shared ones. */
export const listSecretsStatement = named<{ readonly tenantId: string | undefined }>(`
SELECT ${COLUMNS} FROM elo_agent_secrets
WHERE tenant_id = :tenantId::uuid OR tenant_id IS NULL ORDER BY name, tenant_id NULLS LAST`);

/** Every secret of everybody, or those of one name. */
export const readSecretsStatement = named<{ readonly name?: string }>(
  `SELECT ${COLUMNS} FROM elo_agent_secrets WHERE :name::text IS NULL OR name = :name ORDER BY id`,
);

/** Writes a secret, also over the one of this name. No row: there is no such tenant. */
export const upsertSecretStatement = named<NewSecret>(`
INSERT INTO elo_agent_secrets (tenant_id, name, sealed)
SELECT :tenantId::uuid, :name, :sealed
WHERE :tenantId::uuid IS NULL OR EXISTS (SELECT FROM elo_v_agent_tenants WHERE id = :tenantId::uuid)
ON CONFLICT (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name)
  DO UPDATE SET sealed = EXCLUDED.sealed, updated_at = now()
RETURNING id::text AS id`);

/** Writes a secret under a name that is free. No row: somebody took the name. */
export const insertSecretStatement = named<NewSecret>(`
INSERT INTO elo_agent_secrets (tenant_id, name, sealed) VALUES (:tenantId::uuid, :name, :sealed)
ON CONFLICT DO NOTHING RETURNING id::text AS id`);

export const deleteSecretStatement = named<Omit<NewSecret, 'sealed'>>(`
DELETE FROM elo_agent_secrets WHERE tenant_id IS NOT DISTINCT FROM :tenantId::uuid AND name = :name RETURNING id::text AS id`);

/** The same secret under another key. No row: it was changed or removed since it was read. */
export const resealStatement = named<{ readonly id: string; readonly sealed: string; readonly now: string }>(
  `UPDATE elo_agent_secrets SET sealed = :now WHERE id = :id::bigint AND sealed = :sealed RETURNING id::text AS id`,
);

/** The OAuth state of every tenant at every server. */
export const READ_OAUTH_STATES =
  statement(`SELECT own.tenant_id::text AS tenant_id, own.server_id, server.code AS server, own.oauth_state AS state
    FROM elo_t_tenant_mcp_servers AS own JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
    WHERE own.oauth_state IS NOT NULL ORDER BY own.tenant_id, own.server_id`);

export const PLAIN_COLUMNS: readonly PlainColumn[] = [
  { table: 'elo_agent_tools', column: 'auth_header', parent: 'elo_agent_tools', key: 'id', isTenants: false },
  { table: 'elo_t_tenant_tools', column: 'custom_config', parent: 'elo_agent_tools', key: 'tool_id', isTenants: true },
  { table: 'elo_agent_mcp_servers', column: 'auth', parent: 'elo_agent_mcp_servers', key: 'id', isTenants: false },
  {
    table: 'elo_t_tenant_mcp_servers',
    column: 'auth',
    parent: 'elo_agent_mcp_servers',
    key: 'server_id',
    isTenants: true,
  },
];

/** Every row of the column that holds anything. */
export const readPlainStatement = (column: PlainColumn): Statement => statement(selectPlain(column));

/** One of them, for this transaction alone. */
export function lockPlainStatement(column: PlainColumn, { tenant_id, key }: PlainRow): Statement {
  return {
    text: `${selectPlain(column)} AND own.${column.key}::text = $2 AND (${tenantOf(column)}) IS NOT DISTINCT FROM $1 FOR UPDATE OF own`,
    values: [tenant_id, key],
  };
}

function selectPlain(column: PlainColumn): string {
  return `
SELECT ${tenantOf(column)} AS tenant_id, own.${column.key}::text AS key,
  coalesce(parent.code, own.${column.key}::text) AS code, own.${column.column}::text AS content,
  ${column.isTenants ? 'EXISTS (SELECT FROM elo_v_agent_tenants AS tenant WHERE tenant.id = own.tenant_id)' : 'true'} AS has_tenant
FROM ${column.table} AS own LEFT JOIN ${column.parent} AS parent ON parent.id = own.${column.key}
WHERE own.${column.column} IS NOT NULL`;
}

function tenantOf({ isTenants }: PlainColumn): string {
  return isTenants ? 'own.tenant_id::text' : 'NULL::text';
}

/** Writes the column of a row that still says what was read. The text takes the column's own type. */
export function replacePlainStatement(column: PlainColumn, row: PlainRow, content: string): Statement {
  return {
    text: `UPDATE ${column.table} AS own SET ${column.column} = $4
      WHERE own.${column.key}::text = $2 AND (${tenantOf(column)}) IS NOT DISTINCT FROM $1 AND own.${column.column}::text = $3
      RETURNING own.${column.key}`,
    values: [row.tenant_id, row.key, row.content, content],
  };
}

/** JSON with other texts at these places. Postgres does it, since JavaScript would round long numbers. */
export function editJsonStatement(json: string, edits: readonly JsonEdit[]): Statement {
  const edited = edits.reduce(
    (inner, _edit, index) => `jsonb_set(${inner}, $${2 * index + 2}::text[], to_jsonb($${2 * index + 3}::text), false)`,
    '$1::jsonb',
  );
  return {
    text: `SELECT (${edited})::text AS json`,
    values: [json, ...edits.flatMap(({ path, text }) => [[...path], text])],
  };
}

/** Two commands at once must not take the same name for two secrets. */
export const LOCK_NAMES = statement(`SELECT pg_advisory_xact_lock(hashtext('universal-ai-agent vault'))`);

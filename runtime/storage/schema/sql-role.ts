import { randomBytes } from 'node:crypto';

import { escapeIdentifier, escapeLiteral } from 'pg';

import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../postgres/pool';
import { type Query, statement } from '../statement';
import { READABLE_COLUMNS, READABLE_VIEW } from './readable-columns';
import { scramVerifier } from './scram-verifier';

interface SqlRoleRequest {
  readonly name: string;
  /** Generated where none is given. */
  readonly password?: string;
  /** Tables of the installation that may be read too. */
  readonly tables: readonly string[];
}

interface SqlRoleReport {
  readonly role: string;
  readonly isNew: boolean;
  /** Everything that it may read. */
  readonly tables: readonly string[];
  /** Set when it was generated; it is nowhere else. */
  readonly password?: string;
}

/** Known by this, a role is repaired; a role of anybody else is left alone. */
const MARK = 'Reads for the tool sql_query of universal-ai-agent';
const PASSWORD_BYTES = 24;
/** Other characters would first have to be normalized as the server does. */
const USABLE_PASSWORD = /^[\x21-\x7e]{12,128}$/;
const MAX_NAME_BYTES = 63;

/**
 * Makes the role that queries of models run under, or brings it back to what it should be: it may log in and read
 * what is named, and nothing else. All or nothing. Throws SQL_ROLE_NOT_MADE.
 */
export async function makeSqlRole(postgres: Postgres, request: SqlRoleRequest): Promise<SqlRoleReport> {
  const { name, password = randomBytes(PASSWORD_BYTES).toString('base64url') } = request;
  if (name === '' || Buffer.byteLength(name) > MAX_NAME_BYTES) refuse(name, `a name has 1 to ${MAX_NAME_BYTES} bytes`);
  if (!USABLE_PASSWORD.test(password))
    refuse(name, 'the password must be 12 to 128 characters of ASCII without spaces');
  try {
    const made = await postgres.transaction(async (query) => {
      const isNew = await isNewRole(query, name);
      await execute(query, roleStatements(name, { isNew, password }));
      await limitTemporaryFiles(query, name);
      await grantConnect(query, name);
      await revokeAll(query, name);
      return { isNew, tables: [...(await grantOwn(query, name)), ...(await grantOthers(query, request))] };
    });
    return { role: name, ...made, ...(request.password === undefined ? { password } : {}) };
  } catch (error) {
    if (!isRuntimeError(error) || error.code !== 'DB_PERMISSION_DENIED') throw error;
    return refuse(name, String(error.details.reason), error);
  }
}

function refuse(role: string, reason: string, cause?: unknown): never {
  throw new RuntimeError('SQL_ROLE_NOT_MADE', { role, reason }, { cause });
}

async function execute(query: Query, texts: readonly string[]): Promise<void> {
  for (const text of texts) await query({ text, values: [] });
}

interface RoleRow {
  readonly may_create: boolean;
  readonly me: string;
  readonly mark: string | null;
  readonly is_there: boolean;
  readonly is_dangerous: boolean;
}

async function isNewRole(query: Query, name: string): Promise<boolean> {
  const [row] = await query<RoleRow>({
    text: `
SELECT me.rolname AS me, me.rolsuper OR me.rolcreaterole AS may_create,
  shobj_description(role.oid, 'pg_authid') AS mark, role.oid IS NOT NULL AS is_there,
  coalesce(role.rolsuper OR role.rolbypassrls OR role.rolreplication
    OR EXISTS (SELECT FROM pg_auth_members WHERE member = role.oid)
    OR EXISTS (SELECT FROM pg_class WHERE relowner = role.oid), false) AS is_dangerous
FROM pg_roles AS me LEFT JOIN pg_roles AS role ON role.rolname = $1
WHERE me.rolname = current_user`,
    values: [name],
  });
  if (row?.may_create !== true) return refuse(name, `the connected role "${row?.me ?? ''}" may not create roles`);
  if (!row.is_there) return true;
  if (row.mark !== MARK) refuse(name, 'a role of this name is there that this command did not make');
  if (row.is_dangerous) refuse(name, 'it has got rights or tables of its own, or is a member of another role');
  return false;
}

function roleStatements(
  name: string,
  given: { readonly isNew: boolean; readonly password: string },
): readonly string[] {
  const role = escapeIdentifier(name);
  const login = `PASSWORD ${escapeLiteral(scramVerifier(given.password))}`;
  const plain = 'LOGIN NOCREATEDB NOCREATEROLE NOINHERIT';
  return [
    // Before Postgres 16 only a superuser may name the others when the role is there already.
    given.isNew
      ? `CREATE ROLE ${role} NOSUPERUSER NOBYPASSRLS NOREPLICATION ${plain} ${login}`
      : `ALTER ROLE ${role} ${plain} ${login}`,
    `COMMENT ON ROLE ${role} IS ${escapeLiteral(MARK)}`,
    `ALTER ROLE ${role} SET default_transaction_read_only = on`,
    `ALTER ROLE ${role} SET statement_timeout = '60s'`,
    `ALTER ROLE ${role} SET lock_timeout = '5s'`,
    `ALTER ROLE ${role} SET idle_in_transaction_session_timeout = '60s'`,
  ];
}

/** A sort of a huge result goes to the disk; only a superuser may bound that. */
async function limitTemporaryFiles(query: Query, name: string): Promise<void> {
  const [me] = await query<{ is_super: boolean }>(
    statement('SELECT rolsuper AS is_super FROM pg_roles WHERE rolname = current_user'),
  );
  if (me?.is_super === true) await execute(query, [`ALTER ROLE ${escapeIdentifier(name)} SET temp_file_limit = '1GB'`]);
}

/** Everybody may connect, unless the installation has taken that away. */
async function grantConnect(query: Query, name: string): Promise<void> {
  const [row] = await query<{ database: string }>({ text: 'SELECT current_database() AS database', values: [] });
  await execute(query, [
    `GRANT CONNECT ON DATABASE ${escapeIdentifier(row?.database ?? '')} TO ${escapeIdentifier(name)}`,
  ]);
}

/** What an earlier call granted, or somebody else. */
async function revokeAll(query: Query, name: string): Promise<void> {
  const granted = await query<{ name: string }>({
    text: `
SELECT DISTINCT class.oid::regclass::text AS name
FROM pg_roles AS role, pg_class AS class
WHERE role.rolname = $1 AND (
  EXISTS (SELECT FROM aclexplode(class.relacl) AS entry WHERE entry.grantee = role.oid)
  OR EXISTS (
    SELECT FROM pg_attribute AS field, aclexplode(field.attacl) AS entry
    WHERE field.attrelid = class.oid AND entry.grantee = role.oid
  )
)`,
    values: [name],
  });
  await execute(
    query,
    granted.map((table) => `REVOKE ALL ON ${table.name} FROM ${escapeIdentifier(name)}`),
  );
}

interface Grantable {
  /** These two as they are written in SQL. */
  readonly name: string;
  readonly schema: string;
  readonly columns: readonly string[];
}

async function grant(query: Query, name: string, tables: readonly Grantable[]): Promise<readonly string[]> {
  const role = escapeIdentifier(name);
  const schemas = [...new Set(tables.map(({ schema }) => schema))];
  await execute(query, [
    ...schemas.map((schema) => `GRANT USAGE ON SCHEMA ${schema} TO ${role}`),
    ...tables.map((table) => {
      const columns = table.columns.length === 0 ? '' : ` (${table.columns.map(escapeIdentifier).join(', ')})`;
      return `GRANT SELECT${columns} ON ${table.name} TO ${role}`;
    }),
  ]);
  return tables.map((table) => table.name);
}

/** Our tables that are walled, with the columns that may be seen; and the bill's view where it keeps the wall. */
async function grantOwn(query: Query, name: string): Promise<readonly string[]> {
  const tables = await query<Grantable>({
    text: `
SELECT class.oid::regclass::text AS name, class.relnamespace::regnamespace::text AS schema,
  array_agg(field.attname::text ORDER BY field.attnum) AS columns
FROM json_each($1::json) AS given (name, columns)
JOIN pg_class AS class ON class.oid = to_regclass(given.name) AND class.relrowsecurity
JOIN pg_attribute AS field ON field.attrelid = class.oid AND NOT field.attisdropped
  AND field.attname::text IN (SELECT json_array_elements_text(given.columns))
GROUP BY class.oid ORDER BY 1`,
    values: [JSON.stringify(READABLE_COLUMNS)],
  });
  const views = await query<Grantable>({
    text: `
SELECT class.oid::regclass::text AS name, class.relnamespace::regnamespace::text AS schema, '{}'::text[] AS columns
FROM pg_class AS class
WHERE class.oid = to_regclass($1) AND class.relkind = 'v' AND EXISTS (
  SELECT FROM pg_options_to_table(class.reloptions) AS option
  WHERE option.option_name = 'security_invoker' AND option.option_value::boolean
)`,
    values: [READABLE_VIEW],
  });
  return grant(query, name, [...tables, ...views]);
}

interface TableRow extends Grantable {
  readonly is_table: boolean;
  readonly is_walled: boolean;
  readonly bare_name: string;
}

async function grantOthers(query: Query, { name, tables }: SqlRoleRequest): Promise<readonly string[]> {
  const found: Grantable[] = [];
  for (const table of tables) {
    const [row] = await query<TableRow>({
      text: `
SELECT oid::regclass::text AS name, relnamespace::regnamespace::text AS schema, '{}'::text[] AS columns,
  relkind IN ('r', 'p') AS is_table, relrowsecurity AS is_walled, relname::text AS bare_name
FROM pg_class WHERE oid = to_regclass($1)`,
      values: [table],
    });
    if (row === undefined) return refuse(name, `there is no table ${table}`);
    if (!row.is_table) refuse(name, `${table} is not a table`);
    if (!row.is_walled) refuse(name, `${table} has no row-level security`);
    if (Object.hasOwn(READABLE_COLUMNS, row.bare_name)) {
      refuse(name, `${table} is a table of ours, of which the role reads what it may anyway`);
    }
    found.push(row);
  }
  return grant(query, name, found);
}

import { randomUUID } from 'node:crypto';

import { Client, escapeIdentifier } from 'pg';

import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { makeSqlRole } from '../../../runtime/storage/schema/sql-role';
import type { TestDatabase } from '../servers/database';

/** The address of a test database for another role. */
export function urlAs(database: TestDatabase, user: string, password: string): string {
  const url = new URL(database.url);
  url.username = user;
  url.password = password;
  return url.href;
}

/** The address of a test database for the superuser. */
export function adminUrlOf(database: TestDatabase): string {
  const admin = new URL(process.env.TEST_POSTGRES_ADMIN_URL ?? '');
  return urlAs(database, admin.username, admin.password);
}

/** A name that no other test has. */
export function newRoleName(): string {
  return `test_role_${randomUUID().replaceAll('-', '')}`;
}

/** Statements as the superuser, in a test database. */
export async function asAdmin(database: TestDatabase, ...texts: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: adminUrlOf(database) });
  await client.connect();
  try {
    for (const text of texts) await client.query(text);
  } finally {
    await client.end();
  }
}

export interface TestRole {
  readonly name: string;
  readonly password: string;
  readonly url: string;
}

/** A role as `sql-role set` makes it. */
export async function createSqlRole(database: TestDatabase, tables: readonly string[] = []): Promise<TestRole> {
  const postgres = createPostgres({ url: adminUrlOf(database), maxConnections: 1 });
  try {
    const { role, password = '' } = await makeSqlRole(postgres, { name: newRoleName(), tables });
    return { name: role, password, url: urlAs(database, role, password) };
  } finally {
    await postgres.close();
  }
}

/** Roles belong to the server: they outlive the database, and go before it does. One that is not there is none. */
export async function dropRole(database: TestDatabase, name: string): Promise<void> {
  const known = await database.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
  const role = escapeIdentifier(name);
  if (known.length > 0) await asAdmin(database, `DROP OWNED BY ${role}`, `DROP ROLE ${role}`);
}

/** One statement under another role, with app.tenant_id set where one is given. */
export async function queryAs(url: string, text: string, tenantId?: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    if (tenantId !== undefined) await client.query(`SELECT set_config('app.tenant_id', $1, false)`, [tenantId]);
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

import { createHash } from 'node:crypto';

import { RuntimeError } from '../errors/runtime-error';
import { MIGRATIONS } from './migrations';
import type { Postgres, Query } from './postgres';
import { READABLE_COLUMNS } from './readable-columns';

export interface MigrationReport {
  readonly applied: readonly string[];
  /** Applied by an earlier call. */
  readonly present: readonly string[];
}

interface AppliedRow {
  readonly name: string;
  readonly checksum: string;
}

const LOCK = `SELECT pg_advisory_xact_lock(hashtext('universal-ai-agent migrations'))`;
const JOURNAL = `
CREATE TABLE IF NOT EXISTS elo_agent_migrations (
  name VARCHAR(100) PRIMARY KEY,
  checksum CHAR(64) NOT NULL,
  applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
)`;

/** Brings the database up to date, all or nothing. Callers at the same time wait for one another. */
export async function migrate(postgres: Postgres): Promise<MigrationReport> {
  return postgres.transaction(async (query) => {
    await query({ text: LOCK, values: [] });
    await query({ text: JOURNAL, values: [] });
    const present = await readApplied(query);
    const missing = MIGRATIONS.filter(({ name }) => !present.includes(name));
    for (const { name, sql } of missing) {
      await query({ text: sql, values: [] });
      await query({
        text: 'INSERT INTO elo_agent_migrations (name, checksum) VALUES ($1, $2)',
        values: [name, checksum(sql)],
      });
    }
    return { applied: missing.map(({ name }) => name), present };
  });
}

async function readApplied(query: Query): Promise<readonly string[]> {
  const rows = await query<AppliedRow>({
    text: 'SELECT name, checksum FROM elo_agent_migrations ORDER BY name',
    values: [],
  });
  for (const { name, checksum: applied } of rows) {
    const known = MIGRATIONS.find((migration) => migration.name === name);
    if (known !== undefined && checksum(known.sql) !== applied) {
      throw new RuntimeError('DB_QUERY_FAILED', { reason: `migration ${name} is not the one that was applied` });
    }
  }
  return rows.map(({ name }) => name);
}

function checksum(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

export interface DatabaseStatus {
  readonly isReady: boolean;
  readonly applied: readonly string[];
  readonly missing: readonly string[];
  /** The table that tenants are read from. */
  readonly tenantTable: string | null;
  /** False for a role that row-level security keeps from rows: to it a tenant of ours does not exist. */
  readonly roleSeesAll: boolean;
}

/** What is applied and what is missing; changes nothing. */
export async function databaseStatus(postgres: Postgres): Promise<DatabaseStatus> {
  const [found] = await postgres.query<{ journal: string | null; tenants: string | null; sees_all: boolean }>({
    text: `SELECT to_regclass('elo_agent_migrations')::text AS journal,
      coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants'))::text AS tenants,
      NOT EXISTS (
        SELECT FROM unnest($1::text[]) AS ours (name)
        WHERE to_regclass(name) IS NOT NULL AND row_security_active(to_regclass(name))
      ) AS sees_all`,
    values: [Object.keys(READABLE_COLUMNS)],
  });
  const journal = found?.journal ?? null;
  const applied = journal === null ? [] : await readApplied(postgres.query);
  const missing = MIGRATIONS.map(({ name }) => name).filter((name) => !applied.includes(name));
  return {
    isReady: missing.length === 0,
    applied,
    missing,
    tenantTable: found?.tenants ?? null,
    roleSeesAll: found?.sees_all ?? false,
  };
}

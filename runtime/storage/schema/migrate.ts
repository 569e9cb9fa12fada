import { createHash } from 'node:crypto';

import pRetry from 'p-retry';

import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { sqlStateOf } from '../postgres/database-errors';
import type { Postgres } from '../postgres/pool';
import { type Query, statement } from '../statement';
import { BRIDGE, MIGRATIONS, OF_BEFORE } from './migrations';
import { findForeignTypes, findMisfits, wordsOfServer } from './misfits';
import { READABLE_COLUMNS } from './readable-columns';
import { rehearseBill, rehearseRareLines } from './rehearse-bill';
import { adviceOfRareLines, findAdvice, type SchemaAdvice } from './schema-advice';
import { addColumns, findGaps, type SchemaGaps } from './schema-gaps';

export interface SchemaUpgrade {
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

/**
 * Brings the database up to date, all or nothing. Callers at the same time wait for one another. Tables that are there are
 * adopted: they get the columns that they lack, and keep everything else. Throws DB_SCHEMA_DAMAGED for one that cannot be,
 * and where something is gone that an applied migration made: its rows went with it, so a person has to decide. Throws
 * DB_SCHEMA_UNFIT for a database in which a run could not be billed.
 */
export async function migrate(postgres: Postgres): Promise<SchemaUpgrade> {
  return pRetry(() => postgres.transaction(migrateOnce), {
    retries: 4,
    minTimeout: 100,
    // Runs under way lock the same tables, each statement in an order of its own.
    shouldRetry: ({ error }) => isRuntimeError(error) && sqlStateOf(error.cause) === DEADLOCK,
  });
}

const DEADLOCK = '40P01';

async function migrateOnce(query: Query): Promise<SchemaUpgrade> {
  await query({ text: LOCK, values: [] });
  await query({ text: JOURNAL, values: [] });
  const before = await readApplied(query);
  const isBefore = isOfBefore(before);
  const found = await findGaps(query);
  if (isBefore && !before.includes(BRIDGE.from)) throw new RuntimeError('DB_SCHEMA_OLD', { needed: BRIDGE.from });
  const damage = findDamage(found, before);
  if (damage.length > 0) throw new RuntimeError('DB_SCHEMA_DAMAGED', { reason: `it lacks ${damage.join(', ')}` });
  const bridged = isBefore ? await bridge(query) : [];
  const present = [...before, ...bridged];
  const gaps = isBefore ? await findGaps(query) : found;
  // Columns that a migration is about to add come with it: those before it take a table that has them for somebody else's.
  const missing = gaps.columns.filter(({ isAdded }) => !isAdded);
  await addColumns(query, missing).catch(throwUnfit(''));
  assertFit(await findMisfits(query));
  const foreignTypes = await findForeignTypes(query);
  const applied = [...bridged];
  for (const { name, sql } of MIGRATIONS) {
    if (present.includes(name)) continue;
    await query({ text: sql, values: [] }).catch(throwUnfit(` (${name})`, foreignTypes));
    await writeApplied(query, name, sql);
    applied.push(name);
  }
  assertFit(await rehearseBill(query));
  // A bill in use may never meet such a line; before there is one, the table can still be changed.
  if (present.length === 0) assertFit(await rehearseRareLines(query));
  return { applied, present: before };
}

/** Takes a database that has the migrations of before to where the first of now begin; returns what is applied by that. */
async function bridge(query: Query): Promise<readonly string[]> {
  const { migration, reaches } = BRIDGE;
  await query({ text: migration.sql, values: [] }).catch(throwUnfit(` (${migration.name})`));
  const made = [migration, ...reaches];
  for (const { name, sql } of made) await writeApplied(query, name, sql);
  return made.map(({ name }) => name);
}

function isOfBefore(present: readonly string[]): boolean {
  return present.some((name) => OF_BEFORE.test(name)) && !present.includes(MIGRATIONS[0].name);
}

function assertFit(reason: string | undefined): void {
  if (reason !== undefined) throw new RuntimeError('DB_SCHEMA_UNFIT', { reason });
}

/** Matches the states that blame an adopted table, and none of the connection, of rights, of the server or of its time-outs. */
const OF_SCHEMA = /^(?!08|25|28|3D|3F|40|42501|53|55P|57|58|XX)\w/;

/** A table that is there has a type or a shape that it cannot have, or is a view. */
function throwUnfit(where: string, foreignTypes?: readonly string[]): (error: unknown) => never {
  return (error) => {
    if (!isRuntimeError(error) || !OF_SCHEMA.test(sqlStateOf(error.cause) ?? '')) throw error;
    const reason = `${wordsOfServer(error, foreignTypes)}${where}`;
    throw new RuntimeError('DB_SCHEMA_UNFIT', { reason }, { cause: error });
  };
}

/** What applied migrations had made, each with the one that says how. */
function findDamage({ tables, columns, objects }: SchemaGaps, applied: readonly string[]): readonly string[] {
  const isBefore = isOfBefore(applied) && applied.includes(BRIDGE.from);
  const made = isBefore ? [...applied, ...BRIDGE.reaches.map(({ name }) => name)] : applied;
  return [...tables, ...columns.map((column) => ({ ...column, name: `${column.table}.${column.name}` })), ...objects]
    .filter(({ name, migration }) => made.includes(migration) && !(isBefore && isBridged(name)))
    .map(({ name, migration }) => `${name} (${migration})`);
}

/** Returns true for what the bridge makes: a column as `table.column`, or an index as `index name`. */
function isBridged(name: string): boolean {
  const [, table, column] = /^(\w+)[.](\w+)$/.exec(name) ?? [];
  const { sql } = BRIDGE.migration;
  if (table !== undefined) return sql.includes(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${column} `);
  return sql.includes(`CREATE INDEX IF NOT EXISTS ${name.replace('index ', '')} `);
}

async function writeApplied(query: Query, name: string, sql: string): Promise<void> {
  await query({
    text: 'INSERT INTO elo_agent_migrations (name, checksum) VALUES ($1, $2)',
    values: [name, checksum(sql)],
  });
}

async function readApplied(query: Query): Promise<readonly string[]> {
  const rows = await query<AppliedRow>(statement('SELECT name, checksum FROM elo_agent_migrations ORDER BY name'));
  for (const { name, checksum: applied } of rows) {
    const known = [BRIDGE.migration, ...MIGRATIONS].find((migration) => migration.name === name);
    if (known !== undefined && checksum(known.sql) !== applied) {
      throw new RuntimeError('DB_QUERY_FAILED', { reason: `migration ${name} is not the one that was applied` });
    }
  }
  return rows.map(({ name }) => name);
}

function checksum(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

/** Throws why no run could be billed. */
export function assertReady({ damage, missing, unfit }: Readiness): void {
  if (damage.length > 0) throw new RuntimeError('DB_SCHEMA_DAMAGED', { reason: `it lacks ${damage.join(', ')}` });
  if (missing.length > 0) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: `${missing.join(', ')} not applied` });
  assertFit(unfit);
}

/** Readiness of a database for runs that are billed, with the reasons against it. */
interface Readiness {
  readonly isReady: boolean;
  readonly missing: readonly string[];
  /** What applied migrations had made and is gone, each with its migration. `migrate` refuses such a database. */
  readonly damage: readonly string[];
  /** Why a run could not be billed here, although every migration is applied. */
  readonly unfit?: string;
}

export interface DatabaseStatus extends Readiness {
  readonly applied: readonly string[];
  /** Tables and views that are not there, be it that they never were. */
  readonly missingTables: readonly string[];
  /** Columns that tables lack which are there, each as `table.column`. */
  readonly missingColumns: readonly string[];
  /** The table that tenants are read from. */
  readonly tenantTable: string | null;
  /** False for a role that row-level security keeps from rows: to it a tenant of ours does not exist. */
  readonly roleSeesAll: boolean;
  /** What a person may mend in adopted tables; nothing waits for it. */
  readonly advice: readonly SchemaAdvice[];
}

/** What is applied and what is missing; changes nothing. */
export async function databaseStatus(postgres: Postgres): Promise<DatabaseStatus> {
  const { journal, tenants, sees_all: roleSeesAll } = await findBasics(postgres.query);
  const applied = journal === null ? [] : await readApplied(postgres.query);
  const wanted = isOfBefore(applied) ? [BRIDGE.migration, ...MIGRATIONS] : MIGRATIONS;
  const missing = wanted.map(({ name }) => name).filter((name) => !applied.includes(name));
  const gaps = await findGaps(postgres.query);
  const damage = findDamage(gaps, applied);
  const isWhole = missing.length + damage.length === 0;
  const unfit = isWhole ? await postgres.transaction(rehearseBill) : undefined;
  const isReady = isWhole && unfit === undefined;
  const refusedLines = isReady ? await postgres.transaction(rehearseRareLines) : undefined;
  return {
    isReady,
    applied,
    missing,
    damage,
    ...(unfit === undefined ? {} : { unfit }),
    missingTables: gaps.tables.map(({ name }) => name),
    missingColumns: gaps.columns.map(({ table, name }) => `${table}.${name}`),
    tenantTable: tenants,
    roleSeesAll,
    advice: [...(await findAdvice(postgres.query)), ...adviceOfRareLines(refusedLines)],
  };
}

interface Basics {
  readonly journal: string | null;
  readonly tenants: string | null;
  readonly sees_all: boolean;
}

async function findBasics(query: Query): Promise<Basics> {
  const [found] = await query<Basics>({
    text: `SELECT to_regclass('elo_agent_migrations')::text AS journal,
      coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants'))::text AS tenants,
      NOT EXISTS (
        SELECT FROM unnest($1::text[]) AS ours (name)
        WHERE to_regclass(name) IS NOT NULL AND row_security_active(to_regclass(name))
      ) AS sees_all`,
    values: [Object.keys(READABLE_COLUMNS)],
  });
  return found ?? { journal: null, tenants: null, sees_all: false };
}

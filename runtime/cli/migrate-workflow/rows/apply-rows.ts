import type { Tier } from '../../../contracts/tenant';
import { RuntimeError } from '../../../errors/runtime-error';
import { type Query, statement } from '../../../storage/statement';
import { withDatabase } from '../../environment';
import type { FileOutcome } from '../migrate-source';
import { plural } from '../progress';
import type { MigrateRequest } from '../request';
import { type SqlStatement, statementsOf } from './sql-statements';

/** The request with the tiers that the database has. Throws for tenants that it does not have, before anything is done. */
export async function readDatabase(request: MigrateRequest): Promise<MigrateRequest> {
  const { apply } = request;
  if (apply === undefined) return request;
  return withDatabase(async ({ query }) => {
    await tenantsOf(query, apply);
    return { ...request, options: { ...request.options, tiers: await readTiers(query) } };
  });
}

/**
 * Writes the rows of all migrated workflows, in one transaction: all of them or none. What is there already stays. A dry
 * run takes it all back. Throws MIGRATION_ROWS_REFUSED.
 */
export async function applyRows(
  { apply, isDryRun }: MigrateRequest,
  outcomes: readonly FileOutcome[],
  people: NodeJS.WritableStream,
): Promise<void> {
  if (apply === undefined) return;
  const statements = outcomes.flatMap((one) => (one.kind === 'migrated' ? statementsOf(one.sql) : []));
  // Several workflows may need the same row.
  const rows = [...new Map(statements.map((one) => [one.text, one])).values()].filter(
    ({ text }) => !OF_PSQL.test(text),
  );
  const counted = await withDatabase(({ transaction }) =>
    transaction(async (query) => {
      // A role that row-level security keeps rows from gets an error, not fewer rows.
      await query({ text: 'SET LOCAL row_security = off', values: [] });
      await query({ text: 'SAVEPOINT rows', values: [] });
      const tenants = await tenantsOf(query, apply);
      const count = await runAll(query, rows, tenants);
      if (isDryRun) await query({ text: 'ROLLBACK TO SAVEPOINT rows', values: [] });
      return { ...count, tenants: tenants.length };
    }),
  );
  const verb = isDryRun ? 'would be added' : 'added';
  people.write(
    `Database: ${plural(counted.added, 'row')} ${verb}, ${counted.same} there already, for ${plural(counted.tenants, 'tenant')}.\n`,
  );
}

/** The file's own frame. */
const OF_PSQL = /^(?:BEGIN|COMMIT|SET client_encoding\b.*)$/;
/** It fails in psql where it finds a row; here it says what it found. */
const CHECK = /^SELECT (?<problem>.*)::int (?=FROM )/;

interface Count {
  readonly added: number;
  readonly same: number;
}

async function runAll(query: Query, statements: readonly SqlStatement[], tenants: readonly string[]): Promise<Count> {
  let [added, same] = [0, 0];
  for (const { text, isOfTenant } of statements) {
    for (const values of isOfTenant ? tenants.map((tenant) => [tenant]) : [[]]) {
      const isNew = await runOne(query, text, values);
      if (isNew === true) added += 1;
      else if (isNew === false) same += 1;
    }
  }
  return { added, same };
}

/** Whether the row was added; undefined for a check. */
async function runOne(query: Query, statement: string, values: readonly string[]): Promise<boolean | undefined> {
  if (!CHECK.test(statement)) {
    return (await query({ text: `${statement} RETURNING 1 AS added`, values: [...values] })).length > 0;
  }
  const text = statement.replace(CHECK, 'SELECT $<problem>::text AS reason ');
  const [refused] = await query<{ reason: string }>({ text, values: [...values] });
  if (refused !== undefined) throw new RuntimeError('MIGRATION_ROWS_REFUSED', { reason: refused.reason });
  return undefined;
}

/** Their ids, in order; `all` are those that are active. Throws TENANT_NOT_FOUND. */
async function tenantsOf(query: Query, apply: NonNullable<MigrateRequest['apply']>): Promise<readonly string[]> {
  const asked = apply === 'all' ? null : apply;
  const found = await query<{ id: string }>({
    text: `SELECT id::text AS id FROM elo_v_agent_tenants
      WHERE CASE WHEN $1::uuid[] IS NULL THEN is_active ELSE id = ANY ($1::uuid[]) END ORDER BY id`,
    values: [asked],
  });
  const ids = found.map(({ id }) => id);
  const missing = (asked ?? []).find((id) => !ids.includes(id));
  if (missing !== undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: missing });
  return ids;
}

interface TierRow {
  readonly code: string;
  readonly name: string;
  readonly model_id: string;
  readonly max_tokens: number | null;
  readonly temperature: number | null;
}

async function readTiers(query: Query): Promise<readonly Tier[]> {
  const rows = await query<TierRow>(
    statement(`SELECT code, name, model_id, max_tokens, temperature::float8 AS temperature
      FROM elo_agent_tiers ORDER BY rank NULLS LAST, code`),
  );
  return rows.map(({ code, name, model_id: modelId, max_tokens: maxTokens, temperature }) => ({
    code,
    name,
    modelId,
    maxTokens: maxTokens ?? undefined,
    temperature: temperature ?? undefined,
  }));
}

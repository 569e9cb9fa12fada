import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../../storage/postgres/pool';
import {
  deleteTenantStatement,
  findTenants,
  getTenant,
  listTenants,
  patchSettingsStatement,
  readSettings,
  type TenantEntry,
  TENANTS_TABLE,
} from '../../storage/sql/admin/manage-tenants';
import {
  insertRow,
  lockName,
  missingColumn,
  type RowValues,
  type Table,
  updateRow,
} from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import { asObject } from '../../tenants/read-object';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import {
  cursorField,
  labelField,
  limitField,
  objectField,
  readInput,
  tenantIdField,
  toCursor,
  toPage,
} from '../read-input';
import { giveTool } from '../tools/tenant-tools';
import { CHECKED_SETTINGS, checkSettings } from './check-settings';

export interface NewTenant {
  /** What people call it; need not be unique. */
  readonly name: string;
  /** A UUID; one is made without it. */
  readonly id?: string;
  /** The keys that docs/configuration.md lists, such as `default_tier` and `monthly_cost_limit_usd`. */
  readonly settings?: JsonObject;
  /** Codes of tools that it is given at once. */
  readonly tools?: readonly string[];
}

export interface TenantChange {
  readonly tenantId: string;
  readonly name?: string;
  /** Laid over the settings that are there, key by key; null takes a key away. */
  readonly settings?: JsonObject;
}

export interface TenantPage {
  readonly tenants: readonly TenantEntry[];
  /** Give it as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

interface OfTenant {
  readonly tenantId: string;
}

/**
 * The tenants of the installation. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, a code for settings
 * that no run could read (SETTING_INVALID, POLICY_INVALID, TIER_UNKNOWN) or whose rules match nothing (RULE_UNMATCHED), or a
 * DB_ code; then nothing has changed.
 */
export interface TenantAdmin {
  /** Sorted by name; `filter` is a part of the name, or an id. At most 1,000 at a time, 100 by default. */
  readonly list: (query?: {
    readonly filter?: string;
    readonly active?: boolean;
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<TenantPage>;
  /** Found by ID, or by a name that only one tenant has. Rejects with TENANT_AMBIGUOUS, too. */
  readonly get: (tenant: OfTenant | { readonly name: string }) => Promise<TenantEntry>;
  readonly create: (tenant: NewTenant) => Promise<TenantEntry>;
  /**
   * Creates the tenant, or updates the one with this ID or, without an ID, with this name: settings are laid over its own, and
   * `tools` are added to those that it has. Rejects with TENANT_AMBIGUOUS, too.
   */
  readonly set: (tenant: NewTenant) => Promise<TenantEntry>;
  readonly update: (change: TenantChange) => Promise<TenantEntry>;
  /** Stops its runs and keeps its data. Nothing is checked: a tenant is stopped whatever its settings say. */
  readonly deactivate: (tenant: OfTenant) => Promise<TenantEntry>;
  readonly activate: (tenant: OfTenant) => Promise<TenantEntry>;
  /** Takes its tools, secrets, runs and bill along. Rejects with TENANT_ACTIVE as long as it is active. */
  readonly delete: (tenant: OfTenant) => Promise<{ readonly tenant_id: string; readonly deleted: true }>;
}

const PAGE = 100;
const SHAPES = {
  list: strictObject({
    filter: z.string().max(255).optional(),
    active: z.boolean().optional(),
    limit: limitField.default(PAGE),
    after: cursorField(z.tuple([z.string(), z.uuid()])).optional(),
  }),
  one: strictObject({ tenantId: tenantIdField }),
  get: z.union([strictObject({ tenantId: tenantIdField }), strictObject({ name: labelField(255) })]),
  create: strictObject({
    name: labelField(255),
    id: tenantIdField.optional(),
    settings: objectField.optional(),
    tools: z.array(z.string()).default([]),
  }),
  update: strictObject({
    tenantId: tenantIdField,
    name: labelField(255).optional(),
    settings: objectField.optional(),
  }),
};

type Given = z.output<typeof SHAPES.create>;

export function createTenantAdmin({ query, transaction }: Postgres, codeTools: readonly string[] = []): TenantAdmin {
  // What was written is checked as it stands: the transaction takes it back where no run could read it.
  const checkedTenant = async (inside: Query, tenantId: string, changed: readonly string[]): Promise<TenantEntry> => {
    const [row] = await inside<{ settings: string | null }>(readSettings({ tenantId }));
    await checkSettings(inside, row?.settings ?? null, { changed, codeTools });
    return readTenant(inside, tenantId);
  };
  const furnish = async (inside: Query, tenantId: string, { tools, settings }: Given): Promise<TenantEntry> => {
    // In one order for all processes, which would wait for each other else.
    for (const code of [...tools].sort()) await giveTool(inside, { tenantId, code });
    return checkedTenant(inside, tenantId, Object.keys(settings ?? {}));
  };
  const setActive = async (input: unknown, isActive: boolean): Promise<TenantEntry> => {
    const { tenantId } = readInput(SHAPES.one, input, isActive ? 'tenant activate' : 'tenant deactivate');
    return transaction(async (inside) => {
      await change(inside, tenantId, { is_active: isActive });
      return isActive ? checkedTenant(inside, tenantId, CHECKED_SETTINGS) : readTenant(inside, tenantId);
    });
  };
  return {
    list: async (input) => {
      const { limit, after: [afterName, afterId] = [], ...given } = readInput(SHAPES.list, input, 'tenant list');
      const rows = await query<TenantEntry>(listTenants({ ...given, afterName, afterId, rows: limit + 1 }));
      const page = toPage(rows, limit, ({ name, id }) => toCursor([name, id]));
      return { tenants: page.rows.map(toEntry), next: page.next };
    },
    get: async (input) => readTenant(query, await idOf(query, readInput(SHAPES.get, input, 'tenant get'))),
    create: async (input) => {
      const given = readInput(SHAPES.create, input, 'tenant create');
      return transaction(async (inside) => furnish(inside, await create(inside, given), given));
    },
    set: async (input) => {
      const given = readInput(SHAPES.create, input, 'tenant set');
      return transaction(async (inside) => furnish(inside, await createOrChange(inside, given), given));
    },
    update: async (input) => {
      const { tenantId, ...values } = readInput(SHAPES.update, input, 'tenant update');
      return transaction(async (inside) => {
        await change(inside, tenantId, values);
        return checkedTenant(inside, tenantId, Object.keys(values.settings ?? {}));
      });
    },
    deactivate: (input) => setActive(input, false),
    activate: (input) => setActive(input, true),
    delete: async (input) => {
      const { tenantId } = readInput(SHAPES.one, input, 'tenant delete');
      await transaction((inside) => remove(inside, tenantId));
      return { tenant_id: tenantId, deleted: true };
    },
  };
}

async function create(query: Query, { tools: _tools, ...values }: Given): Promise<string> {
  await query(lockName({ kind: 'tenant', name: values.name }));
  const [made] = await query<{ id: string }>(insertRow(await readTable(query, values), values));
  if (made === undefined) throw new RuntimeError('TENANT_EXISTS', { tenantId: values.id });
  return made.id;
}

/** Writes the tenant that is meant, and returns its id. Others that look for the same one wait. Throws TENANT_AMBIGUOUS. */
async function createOrChange(query: Query, given: Given): Promise<string> {
  const { id, name, settings } = given;
  await query(lockName({ kind: 'tenant', name }));
  if (id !== undefined) await query(lockName({ kind: 'tenant ID', name: id }));
  const tenantId = await findOne(query, { id, name });
  if (tenantId === undefined) return create(query, given);
  await change(query, tenantId, { name, settings });
  return tenantId;
}

async function idOf(query: Query, given: z.output<typeof SHAPES.get>): Promise<string> {
  if ('tenantId' in given) return given.tenantId;
  const tenantId = await findOne(query, given);
  if (tenantId === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: given.name });
  return tenantId;
}

/** Throws TENANT_AMBIGUOUS. */
async function findOne(
  query: Query,
  given: { readonly id?: string; readonly name: string },
): Promise<string | undefined> {
  const found = (await query<{ id: string }>(findTenants(given))).map(({ id }) => id);
  if (found.length > 1) throw new RuntimeError('TENANT_AMBIGUOUS', { name: given.name, ids: found.join(', ') });
  return found[0];
}

async function change(
  query: Query,
  tenantId: string,
  { settings, ...values }: Omit<TenantChange, 'tenantId'> & { readonly is_active?: boolean },
): Promise<void> {
  const table = await readTable(query, { ...values, settings });
  await readTenant(query, tenantId);
  if (values.name !== undefined || values.is_active !== undefined) {
    await query(updateRow(table, { id: tenantId }, values));
  }
  if (settings !== undefined) await query(patchSettingsStatement(table, tenantId, settings));
}

async function readTenant(query: Query, tenantId: string): Promise<TenantEntry> {
  const [row] = await query<TenantEntry>(getTenant({ tenantId }));
  if (row === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
  return toEntry(row);
}

/** An adopted table may keep settings as text, or have none. */
function toEntry(row: TenantEntry): TenantEntry {
  return { ...row, settings: asObject(row.settings) };
}

/** Throws TENANT_COLUMN_MISSING for a value that the table has no column for. */
async function readTable(query: Query, values: RowValues): Promise<Table> {
  const [table] = await query<Table>(TENANTS_TABLE);
  if (table === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'there is no table of tenants' });
  const column = missingColumn(table, values);
  if (column !== undefined) throw new RuntimeError('TENANT_COLUMN_MISSING', { table: table.name, column });
  return table;
}

const FOREIGN_KEY = /violates foreign key constraint/;

async function remove(query: Query, tenantId: string): Promise<void> {
  const { is_active: isActive } = await readTenant(query, tenantId);
  if (isActive) throw new RuntimeError('TENANT_ACTIVE', { tenantId });
  const table = await readTable(query, {});
  try {
    await query(deleteTenantStatement(table, tenantId));
  } catch (error) {
    const { message } = error as Error;
    if (!FOREIGN_KEY.test(message)) throw error;
    throw new RuntimeError('TENANT_IN_USE', { tenantId, reason: message }, { cause: error });
  }
}

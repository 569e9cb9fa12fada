import * as z from 'zod/v4';

import type { ToolOutput } from '../../contracts/tools/tool';
import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../../storage/postgres/pool';
import {
  type CatalogueEntry,
  deleteToolStatement,
  getTool,
  type GivenTool,
  listTools,
  readToolRow,
  TOOLS_TABLE,
} from '../../storage/sql/admin/manage-tools';
import {
  insertRow,
  lockName,
  missingColumn,
  type RowValues,
  type Table,
  updateRow,
} from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import type { TenantTools } from '../../toolsets/tenant-tools';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import type { AdminHost } from '../check-address';
import { codeField, labelField, limitField, objectField, readInput, tenantIdField, toPage } from '../read-input';
import { checkTool, TRANSPORTS } from './check-tool';
import { giveTool, limitTool, takeTool, type ToolGrant, type ToolLimits, unknownTool } from './tenant-tools';
import { type ToolField, toolFields, toSchema } from './tool-schema';

/** A tool of the catalogue; docs/tools.md says what each field does. */
export interface ToolChange {
  /** What the model calls it, and how it is known here: letters, digits, `_` and `-`, at most 50. */
  readonly code: string;
  /** Default: the code. */
  readonly name?: string;
  /** The model decides by it when to call the tool. */
  readonly description?: string;
  /** How it is reached. Default `hook`. */
  readonly transport?: string;
  readonly endpoint?: string | null;
  /** `Bearer vault:NAME`, or the header as it is. */
  readonly authHeader?: string | null;
  readonly timeoutMs?: number;
  /** JSON Schema of its arguments; or `fields`, from which one is made. */
  readonly parametersSchema?: JsonObject | null;
  readonly fields?: readonly ToolField[];
  /** Null: every tier. */
  readonly allowedTiers?: readonly string[] | null;
  readonly mcpTool?: string | null;
  readonly transportConfig?: JsonObject;
  readonly isActive?: boolean;
}

export interface NewTool extends ToolChange {
  /** Tenants that get it at once. */
  readonly enableFor?: readonly string[];
}

interface CataloguePage {
  readonly tools: readonly CatalogueEntry[];
  readonly next: string | null;
}

type Offered = Awaited<ReturnType<TenantTools['list']>>;

/**
 * The catalogue of tools, and who was given which. Every method rejects with ADMIN_INPUT_INVALID, TOOL_UNKNOWN, TENANT_NOT_FOUND,
 * TOOL_INVALID, POLICY_INVALID, RULE_UNMATCHED, ADDRESS_FORBIDDEN or a DB_ code; then nothing has changed.
 */
export interface ToolAdmin {
  /** The catalogue by code; with a tenant every tool that it is offered, those of its MCP servers too. */
  readonly list: (query?: {
    readonly tenantId?: string;
    readonly tier?: string;
    readonly filter?: string;
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<CataloguePage | Offered>;
  /** Rejects with TOOL_EXISTS, too. */
  readonly create: (tool: NewTool, host?: AdminHost) => Promise<CatalogueEntry>;
  /** Creates the tool, or updates the one with this code. */
  readonly set: (tool: NewTool, host?: AdminHost) => Promise<CatalogueEntry>;
  /** What is left out stays as it is. */
  readonly update: (tool: ToolChange, host?: AdminHost) => Promise<CatalogueEntry>;
  /** Rejects with TOOL_IN_USE as long as a tenant has it. */
  readonly delete: (tool: { readonly code: string }) => Promise<{ readonly code: string; readonly deleted: true }>;
  readonly enable: (grant: ToolGrant, host?: AdminHost) => Promise<GivenTool>;
  readonly disable: (grant: { readonly tenantId: string; readonly code: string }) => Promise<GivenTool>;
  readonly setLimits: (limits: ToolLimits) => Promise<GivenTool>;
  /** Calls it as a run would: under the same checks, limits and audit. Its failure is an output with isError. */
  readonly execute: (
    call: {
      readonly tenantId: string;
      readonly tool: string;
      readonly arguments?: JsonObject;
      readonly tier?: string;
      readonly meta?: JsonObject;
    },
    host?: AdminHost,
  ) => Promise<ToolOutput>;
}

const change = {
  code: codeField,
  name: labelField(100).optional(),
  description: z.string().optional(),
  transport: z.enum(TRANSPORTS).optional(),
  endpoint: z.string().max(500).nullish(),
  authHeader: z.string().max(500).nullish(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
  parametersSchema: objectField.nullish(),
  fields: toolFields.optional(),
  allowedTiers: z.array(z.string().min(1)).nullish(),
  mcpTool: z.string().max(200).nullish(),
  transportConfig: objectField.optional(),
  isActive: z.boolean().optional(),
};
const isOneSchema = (given: { readonly fields?: unknown; readonly parametersSchema?: unknown }): boolean =>
  given.fields === undefined || given.parametersSchema === undefined;
const BOTH_SCHEMAS = 'has both fields and parametersSchema';
const grant = { tenantId: tenantIdField, code: z.string().min(1).max(200) };
const SHAPES = {
  list: strictObject({
    tenantId: tenantIdField.optional(),
    tier: z.string().optional(),
    filter: z.string().max(255).optional(),
    limit: limitField.default(100),
    after: z.string().optional(),
  }),
  create: strictObject({ ...change, enableFor: z.array(tenantIdField).default([]) }).refine(isOneSchema, BOTH_SCHEMAS),
  change: strictObject(change).refine(isOneSchema, BOTH_SCHEMAS),
  one: strictObject({ code: grant.code }),
  grant: strictObject(grant),
  enable: strictObject({ ...grant, customConfig: objectField.optional() }),
  limits: strictObject({
    ...grant,
    dailyLimit: z.int().min(0).max(2_147_483_647).nullish(),
    permissions: objectField.nullish(),
  }),
  execute: strictObject({
    tenantId: tenantIdField,
    tool: z.string().min(1),
    arguments: objectField.default({}),
    tier: z.string().optional(),
    meta: objectField.optional(),
  }),
};
type Change = z.output<typeof SHAPES.change>;
type New = z.output<typeof SHAPES.create>;

export function createToolAdmin({ query, transaction }: Postgres, tenantTools: TenantTools): ToolAdmin {
  return {
    list: async (input) => {
      const { tenantId, tier, ...given } = readInput(SHAPES.list, input, 'tool list');
      return tenantId === undefined ? listCatalogue(query, given) : tenantTools.list({ tenantId, tier });
    },
    create: async (input, host = {}) => {
      const given = readInput(SHAPES.create, input, 'tool create');
      return transaction(async (inside) => {
        await insert(inside, given);
        return enabled(inside, given, host);
      });
    },
    set: async (input, host = {}) => {
      const given = readInput(SHAPES.create, input, 'tool set');
      return transaction(async (inside) => {
        await inside(lockName({ kind: 'tool', name: given.code }));
        if (!(await alter(inside, given))) await insert(inside, given);
        return enabled(inside, given, host);
      });
    },
    update: async (input, host = {}) => {
      const given = readInput(SHAPES.change, input, 'tool update');
      return transaction(async (inside) => {
        if (!(await alter(inside, given))) throw await unknownTool(inside, given.code);
        return isStopping(given) ? readTool(inside, given.code) : checkedTool(inside, given.code, host);
      });
    },
    delete: async (input) => {
      const { code } = readInput(SHAPES.one, input, 'tool delete');
      await transaction((inside) => remove(inside, code));
      return { code, deleted: true };
    },
    enable: async (input, host) => {
      const given = readInput(SHAPES.enable, input, 'tool enable');
      return transaction((inside) => giveTool(inside, given, host));
    },
    disable: async (input) => {
      const given = readInput(SHAPES.grant, input, 'tool disable');
      return transaction((inside) => takeTool(inside, given));
    },
    setLimits: async (input) => {
      const given = readInput(SHAPES.limits, input, 'tool limits');
      return transaction((inside) => limitTool(inside, given));
    },
    execute: async (input, host) =>
      tenantTools.call({ ...readInput(SHAPES.execute, input, 'tool execute'), egress: host?.egress }),
  };
}

async function listCatalogue(
  query: Query,
  { limit, ...given }: Omit<z.output<typeof SHAPES.list>, 'tenantId' | 'tier'>,
): Promise<CataloguePage> {
  const rows = await query<CatalogueEntry>(listTools({ ...given, rows: limit + 1 }));
  const page = toPage(rows, limit, ({ code }) => code);
  return { tools: page.rows, next: page.next };
}

/** Throws TOOL_EXISTS. Waits for others that add a tool with this code: an adopted table may have no key on it. */
async function insert(query: Query, given: Change): Promise<void> {
  await query(lockName({ kind: 'tool', name: given.code }));
  const values = { ...columnsOf(given), name: given.name ?? given.code, transport: given.transport ?? 'hook' };
  const rows = await query(insertRow(await toolsTable(query, values), values));
  if (rows.length === 0) throw new RuntimeError('TOOL_EXISTS', { tool: given.code });
}

/** Returns false if there is no tool with this code. */
async function alter(query: Query, given: Change): Promise<boolean> {
  const values = columnsOf(given);
  const rows = await query(updateRow(await toolsTable(query, values), { code: given.code }, values));
  return rows.length > 0;
}

/** Gives the tool to the tenants, in one order for all processes, and checks it. */
async function enabled(query: Query, { code, enableFor }: New, host: AdminHost): Promise<CatalogueEntry> {
  for (const tenantId of [...enableFor].sort()) await giveTool(query, { tenantId, code }, host);
  return checkedTool(query, code, host);
}

function columnsOf({ fields, parametersSchema, ...given }: Change): RowValues {
  return {
    code: given.code,
    name: given.name,
    description: given.description,
    transport: given.transport,
    mcp_endpoint: given.endpoint,
    auth_header: given.authHeader,
    timeout_ms: given.timeoutMs,
    parameters_schema: fields === undefined ? parametersSchema : toSchema(fields),
    allowed_tiers: given.allowedTiers,
    mcp_tool: given.mcpTool,
    transport_config: given.transportConfig,
    is_active: given.isActive,
  };
}

async function toolsTable(query: Query, values: RowValues): Promise<Table> {
  const [table] = await query<Table>(TOOLS_TABLE);
  const column = table === undefined ? 'code' : missingColumn(table, values);
  if (table !== undefined && column === undefined) return table;
  throw new RuntimeError('DB_SCHEMA_MISSING', { reason: `elo_agent_tools has no column "${String(column)}"` });
}

/** What was written is checked as it stands: the transaction takes it back where no run could use it. */
async function checkedTool(query: Query, code: string, host: AdminHost): Promise<CatalogueEntry> {
  const [row] = await query<{ row: string }>(readToolRow({ code }));
  await checkTool(row?.row ?? '[]', host);
  return readTool(query, code);
}

/** Returns true for a change that only deactivates the tool; it skips all checks. */
function isStopping({ code: _code, isActive, ...more }: Change): boolean {
  return isActive === false && Object.values(more).every((value: unknown) => value === undefined);
}

async function readTool(query: Query, code: string): Promise<CatalogueEntry> {
  const [entry] = await query<CatalogueEntry>(getTool({ code }));
  if (entry === undefined) throw await unknownTool(query, code);
  return entry;
}

async function remove(query: Query, code: string): Promise<void> {
  const [tool] = await query<CatalogueEntry>(getTool({ code }));
  if (tool === undefined) throw await unknownTool(query, code);
  if (tool.tenants > 0) throw new RuntimeError('TOOL_IN_USE', { tool: code, tenants: tool.tenants });
  await query(deleteToolStatement(code));
}

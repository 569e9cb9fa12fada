import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { type CatalogueEntry, getTool, readToolRow, TOOLS_TABLE } from '../../storage/sql/admin/manage-tools';
import {
  insertRow,
  lockName,
  missingColumn,
  type RowValues,
  type Table,
  updateRow,
} from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import type { AdminHost } from '../contract/host';
import { codeField, labelField, objectField } from '../read-input';
import { checkTool, TRANSPORTS } from './check-tool';
import { unknownTool } from './tenant-tools';
import { toolFields, toSchema } from './tool-schema';

/** The input for a row of the catalogue. */
export const toolShape = {
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
export const isOneSchema = (given: { readonly fields?: unknown; readonly parametersSchema?: unknown }): boolean =>
  given.fields === undefined || given.parametersSchema === undefined;
export const BOTH_SCHEMAS = 'has both fields and parametersSchema';

type Change = z.output<z.ZodObject<typeof toolShape>>;

/** Throws TOOL_EXISTS. Waits for others that add a tool with this code: an adopted table may have no key on it. */
export async function insertTool(query: Query, given: Change): Promise<void> {
  await query(lockName({ kind: 'tool', name: given.code }));
  const values = { ...columnsOf(given), name: given.name ?? given.code, transport: given.transport ?? 'hook' };
  const rows = await query(insertRow(await toolsTable(query, values), values));
  if (rows.length === 0) throw new RuntimeError('TOOL_EXISTS', { tool: given.code });
}

/** Returns false if there is no tool with this code. */
export async function alterTool(query: Query, given: Change): Promise<boolean> {
  const values = columnsOf(given);
  const rows = await query(updateRow(await toolsTable(query, values), { code: given.code }, values));
  return rows.length > 0;
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
export async function checkedTool(query: Query, code: string, host: AdminHost): Promise<CatalogueEntry> {
  const [row] = await query<{ row: string }>(readToolRow({ code }));
  await checkTool(row?.row ?? '[]', host);
  return readTool(query, code);
}

/** Throws TOOL_UNKNOWN. */
export async function readTool(query: Query, code: string): Promise<CatalogueEntry> {
  const [entry] = await query<CatalogueEntry>(getTool({ code }));
  if (entry === undefined) throw await unknownTool(query, code);
  return entry;
}

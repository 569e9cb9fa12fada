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
import { asObject } from '../../tenants/read-object';
import { parseExactly } from '../../util/exact-integer';
import { isJsonObject, type JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import type { AdminHost } from '../contract/host';
import { codeField, labelField, objectField } from '../read-input';
import { checkTool, TRANSPORTS } from './check-tool';
import { keptConfig, requestField, toRestRow } from './rest-request';
import { unknownTool } from './tenant-tools';
import { toolFields, toSchema } from './tool-schema';

/** How the panel shows the code of a tool that is there. */
export const OF_CATALOGUE = { picker: 'tool', title: 'Tool', description: 'The tool of the catalogue' } as const;

/** `request` is a word of the panel: it is followed by the form of a request. */
const TRANSPORT_NAMES: Readonly<Record<(typeof TRANSPORTS)[number] | 'request', readonly [string, string]>> = {
  builtin: ['Built-In', 'A tool that comes with this package'],
  hook: ['Hook', 'An address that gets the call as JSON, such as an n8n webhook'],
  mcp: ['MCP', 'One tool of an MCP server'],
  request: ['REST', 'Any HTTP API, by its method, URL, query and body'],
  rest: ['REST (JSON)', 'Any HTTP API; Transport Config says as JSON how it is called'],
  workflow: ['Workflow', 'An n8n workflow behind a webhook'],
};
const transportField = z.enum(TRANSPORTS).optional();
const description = 'How the tool is reached';
/** The transport of a new tool, and of one that may be there already. */
const newTransport = transportField.meta({ names: TRANSPORT_NAMES, initial: 'hook', description });
export const changedTransport = (unchanged: string): typeof transportField =>
  transportField.meta({ names: { '': unchanged, ...TRANSPORT_NAMES }, initial: '', description });

/** The input for a row of the catalogue. */
export const toolShape = {
  code: codeField.meta({
    placeholder: 'find_orders',
    description: 'What the model calls the tool: letters, digits, _ and -, at most 50',
  }),
  description: z.string().optional().meta({ rows: 2, placeholder: 'Find the orders of a customer' }),
  transport: newTransport,
  endpoint: z.string().max(500).nullish().meta({
    panel: 'endpoint',
    placeholder: 'https://n8n.example.com/webhook/find-orders',
    description: 'The address of the tool. For a tool that is there already, empty leaves it as it is.',
  }),
  request: requestField.optional().meta({ panel: 'request' }),
  fields: toolFields.optional().meta({ panel: 'toolArguments' }),
  parametersSchema: objectField.nullish().meta({ group: 'none' }),
  name: labelField(100).optional().meta({
    group: 'more',
    title: 'Display Name',
    description: 'What people call the tool; the model knows its code',
  }),
  authHeader: z.string().max(500).nullish().meta({
    group: 'more',
    title: 'Authorization Header',
    placeholder: 'Bearer vault:SHOP_KEY',
    description: 'What is sent as the Authorization header. Name a secret of the vault with vault:NAME.',
  }),
  timeoutMs: z.int().min(1).max(600_000).optional().meta({
    group: 'more',
    title: 'Timeout (Milliseconds)',
    initial: 30_000,
    description: 'How long a call may take',
  }),
  allowedTiers: z.array(z.string().min(1)).nullish().meta({
    none: 'all',
    group: 'more',
    picker: 'tier',
    title: 'Tier',
    description: 'The tiers that may use the tool; without this field all of them may',
  }),
  mcpTool: z.string().max(200).nullish().meta({
    group: 'more',
    title: 'MCP Tool',
    description: 'The name of the tool on its MCP server, where it differs from the code',
  }),
  transportConfig: objectField.optional().meta({
    group: 'more',
    description: 'How a REST API or a built-in tool is called, as JSON (see the documentation on tools)',
  }),
  isActive: z.boolean().optional().meta({
    group: 'more',
    title: 'Active',
    initial: true,
    description: 'Whether tenants that have the tool are offered it',
  }),
};
type Change = z.output<z.ZodObject<typeof toolShape>>;

/** The input of an operation that writes a tool: each thing is said in one way. */
export const toolInput = <Shape extends typeof toolShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> =>
  strictObject(shape).check(({ value, issues }) => {
    const given = value as Partial<Change>;
    const refuse = (message: string): void => void issues.push({ code: 'custom', message, input: value });
    if (given.fields !== undefined && given.parametersSchema !== undefined) {
      refuse('has both fields and parametersSchema');
    }
    if (given.request === undefined) return;
    if (given.endpoint !== undefined) refuse('has both request and endpoint');
    if (given.transport !== undefined && given.transport !== 'rest') {
      refuse(`has a request, and the transport ${given.transport}`);
    }
  });

/** Throws TOOL_EXISTS. Waits for others that add a tool with this code: an adopted table may have no key on it. */
export async function insertTool(query: Query, given: Change): Promise<void> {
  await query(lockName({ kind: 'tool', name: given.code }));
  const columns = columnsOf(given, {});
  const values = { ...columns, name: given.name ?? given.code, transport: columns.transport ?? 'hook' };
  const rows = await query(insertRow(await toolsTable(query, values), values));
  if (rows.length === 0) throw new RuntimeError('TOOL_EXISTS', { tool: given.code });
}

/** Returns false if there is no tool with this code. */
export async function alterTool(query: Query, given: Change): Promise<boolean> {
  const values = columnsOf(given, given.request === undefined ? {} : await keptOf(query, given.code));
  const rows = await query(updateRow(await toolsTable(query, values), { code: given.code }, values));
  return rows.length > 0;
}

/** The settings of a tool that a new request leaves as they are. */
async function keptOf(query: Query, code: string): Promise<JsonObject> {
  const [read] = await query<{ row: string }>(readToolRow({ code }));
  const [row] = parseExactly(read?.row ?? '[]') as {
    readonly transport?: string;
    readonly transport_config?: unknown;
  }[];
  return keptConfig(row?.transport ?? null, asObject(row?.transport_config));
}

function columnsOf({ fields, parametersSchema, request, ...change }: Change, kept: JsonObject): RowValues {
  const names = argumentNames({ fields, parametersSchema });
  const config = { ...kept, ...change.transportConfig };
  const given = { ...change, ...(request === undefined ? {} : toRestRow(request, { config, names })) };
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

/** The names of the arguments that are given with a tool; undefined if none are. */
function argumentNames({
  fields,
  parametersSchema,
}: Pick<Change, 'fields' | 'parametersSchema'>): string[] | undefined {
  if (fields !== undefined) return fields.map(({ name }) => name);
  return isJsonObject(parametersSchema?.properties) ? Object.keys(parametersSchema.properties) : undefined;
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

import { RuntimeError } from '../../errors/runtime-error';
import {
  getGivenTool,
  type GivenTool,
  readToolRow,
  TENANT_TOOLS_TABLE,
  TOOL_CODES,
} from '../../storage/sql/admin/manage-tools';
import { insertRow, type Table, updateRow } from '../../storage/sql/admin/write-row';
import { tenantExistsStatement } from '../../storage/sql/usage-report';
import type { Query } from '../../storage/statement';
import { asObject } from '../../tenants/read-object';
import { parseExactly } from '../../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { nearestKey } from '../../util/known-keys';
import type { AdminHost } from '../contract/host';
import type { OfTool, ToolGrant, ToolLimits } from '../contract/tool';
import { checkTool } from './check-tool';

/** Gives a tenant a tool, or gives it back one that was taken. Throws TENANT_NOT_FOUND, TOOL_UNKNOWN or what checkTool throws. */
export async function giveTool(query: Query, grant: ToolGrant, host: AdminHost = {}): Promise<GivenTool> {
  const { tenantId, code, customConfig } = grant;
  const { id } = await findTool(query, grant);
  const table = await ownTable(query);
  const values = { is_enabled: true, custom_config: customConfig };
  const updated = await query(updateRow(table, { tenant_id: tenantId, tool_id: id }, values));
  if (updated.length === 0) await query(insertRow(table, { tenant_id: tenantId, tool_id: id, ...values }));
  await checkTool((await findTool(query, grant)).row, { ...host, areRulesNew: customConfig !== undefined });
  return readGiven(query, { tenantId, code });
}

/** Takes a tool away from a tenant; its settings stay. Throws as giveTool does, and TOOL_NOT_GIVEN. */
export async function takeTool(query: Query, grant: OfTool): Promise<GivenTool> {
  const { id } = await findTool(query, grant);
  const keys = { tenant_id: grant.tenantId, tool_id: id };
  await query(updateRow(await ownTable(query), keys, { is_enabled: false }));
  return readGiven(query, grant);
}

export async function limitTool(query: Query, limits: ToolLimits): Promise<GivenTool> {
  const { tenantId, code, dailyLimit } = limits;
  const { id, row } = await findTool(query, limits);
  await readGiven(query, { tenantId, code });
  const [first] = parseExactly(row) as { readonly custom_config?: unknown }[];
  const { permissions: before, ...rest } = asObject(first?.custom_config);
  const permissions = rulesOf(limits, before);
  const customConfig = permissions === undefined ? undefined : { ...rest, ...(permissions && { permissions }) };
  const values = { usage_limit_daily: dailyLimit, custom_config: customConfig };
  if (dailyLimit !== undefined || customConfig !== undefined) {
    await query(updateRow(await ownTable(query), { tenant_id: tenantId, tool_id: id }, values));
  }
  if (permissions !== undefined) await checkTool((await findTool(query, limits)).row, { areRulesNew: true });
  return readGiven(query, { tenantId, code });
}

/** The rules of a tool after the change; undefined if they stay. */
function rulesOf({ permissions, rules }: ToolLimits, before: JsonValue | undefined): JsonObject | null | undefined {
  if (rules === undefined) return permissions;
  const under = permissions === undefined ? before : permissions;
  return { ...(isJsonObject(under) ? under : {}), ...rules };
}

/** The tool as the tenant has it, locked. Throws TENANT_NOT_FOUND or TOOL_UNKNOWN. */
async function findTool(
  query: Query,
  { tenantId, code }: OfTool,
): Promise<{ readonly id: number; readonly row: string }> {
  const [tenant] = await query(tenantExistsStatement(tenantId));
  if (tenant === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
  const [tool] = await query<{ id: number; row: string }>(readToolRow({ tenantId, code }));
  if (tool === undefined) throw await unknownTool(query, code);
  return tool;
}

/** The error for a code that the catalogue lacks, with the nearest one that it has. */
export async function unknownTool(query: Query, tool: string): Promise<RuntimeError> {
  const codes = (await query<{ code: string }>(TOOL_CODES)).map(({ code }) => code);
  const nearest = nearestKey(tool, codes);
  return new RuntimeError('TOOL_UNKNOWN', {
    tool,
    nearest: nearest === undefined ? '' : ` Did you mean "${nearest}"?`,
  });
}

async function readGiven(query: Query, { tenantId, code }: OfTool): Promise<GivenTool> {
  const [given] = await query<GivenTool>(getGivenTool({ tenantId, code }));
  if (given === undefined) throw new RuntimeError('TOOL_NOT_GIVEN', { tenantId, tool: code });
  return given;
}

async function ownTable(query: Query): Promise<Table> {
  const [table] = await query<Table>(TENANT_TOOLS_TABLE);
  if (table === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'there is no elo_t_tenant_tools' });
  return table;
}

import { isUuid } from '../../util/clock';
import type { JsonObject } from '../../util/json';
import type { WorkflowNode } from '../contract';
import { sqlJson, sqlNumber, sqlText, sqlTextArray } from '../sql-text';

export interface RowRequest {
  readonly node: WorkflowNode;
  /** Undefined: every tier. */
  readonly allowedTiers?: readonly string[];
  readonly tenant: string;
}

/** A tool, or a server of tools, as rows of the database. */
export interface MigratedToolRow {
  readonly code: string;
  /** How it is called in an allow-list. */
  readonly allowed: string;
  readonly statement: string;
  /** What a person has to put into the vault. */
  readonly secrets: readonly string[];
}

/** Why a tool has to stay connected: the end of a sentence. */
export interface Refusal {
  readonly why: string;
}

export function isRefusal(row: object): row is Refusal {
  return 'why' in row;
}

export const MAX_CODE = 50;
const MAX_TOOL_LABEL = 100;
const MAX_VAULT_NAME = 100;

/** The tenant as a literal, or as the variable that psql is given. */
function sqlTenant(tenant: string): string {
  return isUuid(tenant) ? sqlText(tenant.toLowerCase()) : ":'tenant_id'";
}

/** The name of the secret in the vault, made of the tool's code: codes that differ in their case are two tools. */
export function vaultName(code: string, place = 'auth'): string {
  return `${code}_${place.replace(/[^\w.-]/g, '_')}`.slice(0, MAX_VAULT_NAME);
}

interface RestRow {
  readonly code: string;
  readonly label: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly endpoint: string;
  readonly config: JsonObject;
  readonly authHeader?: string;
  readonly timeoutMs?: number;
}

export function restStatement(row: RestRow, { tenant, allowedTiers }: RowRequest): string {
  const code = sqlText(row.code);
  const endpoint = sqlText(row.endpoint);
  const config = `${sqlJson(row.config)}::jsonb`;
  return [
    'INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint, auth_header, timeout_ms, transport_config, allowed_tiers)',
    `VALUES (${[
      code,
      sqlText(row.label.slice(0, MAX_TOOL_LABEL)),
      sqlText(row.description),
      sqlJson(row.schema),
      "'rest'",
      endpoint,
      row.authHeader === undefined ? 'NULL' : sqlText(row.authHeader),
      sqlNumber(row.timeoutMs),
      config,
      allowedTiers === undefined ? 'NULL' : sqlTextArray(allowedTiers),
    ].join(', ')})`,
    'ON CONFLICT (code) DO NOTHING;',
    '-- Fails when another tool has this code already: rename the tool in the workflow, and migrate again.',
    "SELECT ('the code ' || code || ' is that of another tool already')::int FROM elo_agent_tools",
    `WHERE code = ${code} AND (transport, mcp_endpoint, transport_config) IS DISTINCT FROM ('rest', ${endpoint}, ${config});`,
    'INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)',
    `SELECT ${sqlTenant(tenant)}, id FROM elo_agent_tools WHERE code = ${code}`,
    'ON CONFLICT DO NOTHING;',
  ].join('\n');
}

export interface ServerRow {
  readonly code: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly auth: JsonObject;
  readonly includeTools?: readonly string[];
  readonly excludeTools: readonly string[];
  readonly settings: JsonObject;
}

export function serverStatement(row: ServerRow, { tenant, allowedTiers }: RowRequest): string {
  const code = sqlText(row.code);
  return [
    'INSERT INTO elo_agent_mcp_servers (code, url, transport, auth, include_tools, exclude_tools, settings, allowed_tiers)',
    `VALUES (${[
      code,
      sqlText(row.url),
      sqlText(row.transport),
      sqlJson(row.auth),
      row.includeTools === undefined ? 'NULL' : sqlTextArray(row.includeTools),
      sqlTextArray(row.excludeTools),
      sqlJson(row.settings),
      allowedTiers === undefined ? 'NULL' : sqlTextArray(allowedTiers),
    ].join(', ')})`,
    'ON CONFLICT (code) DO NOTHING;',
    '-- Fails when another server has this code already: rename the node in the workflow, and migrate again.',
    "SELECT ('the code ' || code || ' is that of another server already')::int FROM elo_agent_mcp_servers",
    `WHERE code = ${code} AND url IS DISTINCT FROM ${sqlText(row.url)};`,
    'INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id)',
    `SELECT ${sqlTenant(tenant)}, id FROM elo_agent_mcp_servers WHERE code = ${code}`,
    'ON CONFLICT DO NOTHING;',
  ].join('\n');
}

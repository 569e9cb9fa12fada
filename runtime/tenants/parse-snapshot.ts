import * as z from 'zod/v4';

import type { ModelPrice } from '../contracts/ledger/usage';
import type { AgentRow, TenantSnapshot, Tier, ToolRow } from '../contracts/tenant';
import type { McpListedTool, McpServerRow } from '../contracts/tools/mcp';
import { parseExactly } from '../util/exact-integer';
import type { JsonObject } from '../util/json';
import { parseSettings, secondsOf } from './parse-settings';
import { asObject, readObject } from './read-object';

const number = z.coerce.number().nullish().catch(null);
// NUMERIC may also be NaN or Infinity, which no bill can be worked out with.
const decimal = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d+(\.\d+)?$/));

const tierRow = z.object({
  code: z.string(),
  name: z.string().nullish(),
  model_id: z.string(),
  max_tokens: number,
  temperature: number,
  model_silence_seconds: number,
  rank: number,
  tool_config: z.unknown(),
  is_free: z.unknown(),
});
const priceRow = z.object({
  model_id: z.string(),
  input_cost_per_1m: decimal,
  output_cost_per_1m: decimal,
  cached_input_cost_per_1m: decimal.optional(),
  cache_write_cost_per_1m: decimal.optional(),
  cache_write_1h_cost_per_1m: decimal.optional(),
  reasoning_cost_per_1m: decimal.optional(),
});
const toolRow = z.object({
  code: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  parameters_schema: z.unknown(),
  mcp_endpoint: z.string().nullish(),
  auth_header: z.string().nullish(),
  timeout_ms: number,
  transport: z.string().nullish(),
  mcp_tool: z.string().nullish(),
  allowed_tiers: z.unknown(),
  custom_config: z.unknown(),
  transport_config: z.unknown(),
});

const serverRow = z.object({
  id: z.number(),
  code: z.string(),
  url: z.string(),
  transport: z.string(),
  auth: z.unknown(),
  settings: z.unknown(),
  resets: z.number().optional(),
  include_tools: z.array(z.string()).nullish(),
  exclude_tools: z.array(z.string()).nullish(),
  allowed_tiers: z.unknown(),
  is_list_fresh: z.boolean(),
});
const serverToolRow = z.object({
  server_id: z.number(),
  name: z.string(),
  description: z.string(),
  input_schema: z.unknown(),
  is_repeatable: z.boolean(),
  is_read_only: z.boolean(),
  is_quarantined: z.boolean(),
});

const skillRow = z.object({ name: z.string(), description: z.string() });
const secretRow = z.object({ name: z.string(), is_shared: z.boolean(), sealed: z.string() });

/** The columns of the load statement: JSON as text, so that equal text need not be parsed again. */
export interface SnapshotColumns {
  readonly id: string;
  readonly is_active: boolean;
  readonly settings: string | null;
  readonly tiers: string;
  readonly prices: string;
  readonly tools: string;
  readonly servers: string;
  readonly server_tools: string;
  readonly secrets: string;
  readonly channels: string;
  readonly policy_version: string;
  /** Present, as skills are, if an agent or skills were asked for. */
  readonly agents?: string;
  readonly skills?: string;
}

/** All lists of a tenant's servers together. */
const MAX_LISTS_CHARS = 4 * 1024 * 1024;

/** The lists of the tenant's MCP servers, by the server's id. */
export type ServerTools = ReadonlyMap<number, readonly McpListedTool[]>;

/**
 * Database rows as our types. Settings and figures that make no sense are left out, as if they were not set. Throws
 * SETTING_INVALID for settings that cannot be read, and for a setting that seems to have been meant to guard, and has another name.
 */
export function parseSnapshot(columns: SnapshotColumns, serverTools: ServerTools | undefined): TenantSnapshot {
  return {
    tenant: { id: columns.id, isActive: columns.is_active, settings: parseSettings(columns.settings) },
    tiers: readRows(tierRow, columns.tiers).map(toTier),
    prices: readRows(priceRow, columns.prices).map(toPrice),
    tools: parseTools(columns.tools),
    servers: parseServers(columns.servers, serverTools),
    sealedSecrets: readRows(secretRow, columns.secrets).map(({ is_shared, ...own }) => ({
      ...own,
      isShared: is_shared,
    })),
    channels: asObject(columns.channels),
    policyVersion: columns.policy_version,
    agents: columns.agents === undefined ? undefined : parseAgents(columns.agents),
    skills: columns.skills === undefined ? undefined : readRows(skillRow, columns.skills),
  };
}

/** Rows of the catalogue with the tenant's own laid beside them, from a JSON list. */
export function parseTools(text: string): readonly ToolRow[] {
  return readRows(toolRow, text).map(toToolRow);
}

/** The tenant's MCP servers, from a JSON list. */
export function parseServers(text: string, serverTools?: ServerTools): readonly McpServerRow[] {
  return readRows(serverRow, text).map((row) => toServer(row, serverTools));
}

const belowRow = z.object({ name: z.string(), description: z.string().nullable(), is_active: z.boolean() });
const agentsColumn = z.object({ is_any: z.boolean(), rows: z.unknown(), below: z.array(belowRow) });
const agentRow = z.looseObject({ tenant_id: z.string().nullable(), is_active: z.boolean(), version: z.number() });

/** The rows of the agent that was asked for. */
function parseAgents(text: string): NonNullable<TenantSnapshot['agents']> {
  const { is_any: isAny, rows, below } = agentsColumn.parse(parseExactly(text));
  return {
    isAny,
    rows: toAgentRows(rows),
    below: below.map(({ is_active: isActive, description, ...row }) => ({
      ...{ ...row, isActive, description: description ?? undefined },
    })),
  };
}

/** Rows of agents from a JSON list. */
export function parseAgentRows(text: string): readonly AgentRow[] {
  return toAgentRows(parseExactly(text));
}

/** Every column that is not null is in the definition, under the name that a program gives it. */
function toAgentRows(rows: unknown): readonly AgentRow[] {
  return z
    .array(agentRow)
    .parse(rows)
    .map(({ tenant_id: tenantId, is_active: isActive, version, ...row }) => {
      const given = Object.entries(AGENT_COLUMNS).map(([column, key]) => [key, row[column] ?? null] as const);
      const definition = Object.fromEntries(given.filter(([, value]) => value !== null)) as JsonObject;
      return { ...(tenantId === null ? {} : { tenantId }), isActive, version, definition };
    });
}

const AGENT_COLUMNS = {
  name: 'name',
  description: 'description',
  system_prompt: 'systemPrompt',
  tier: 'tier',
  model: 'model',
  model_rules: 'modelRules',
  temperature: 'temperature',
  max_iterations: 'maxIterations',
  tools: 'tools',
  tool_permissions: 'toolPermissions',
  skills: 'skills',
  sub_agents: 'subAgents',
  output_schema: 'outputSchema',
  limits: 'limits',
};

/** Undefined for more than can be read at once, which an earlier version may have stored: the servers are asked again. */
export function parseServerTools(text: string): ServerTools | undefined {
  if (text.length > MAX_LISTS_CHARS) return undefined;
  const byServer = Map.groupBy(readRows(serverToolRow, text), (row) => row.server_id);
  return new Map(Array.from(byServer, ([id, rows]) => [id, rows.map(toListedTool)]));
}

function toListedTool(row: z.output<typeof serverToolRow>): McpListedTool {
  const { name, description, is_repeatable: isRepeatable, is_read_only: isReadOnly } = row;
  const inputSchema = asObject(row.input_schema);
  return { name, description, inputSchema, isRepeatable, isReadOnly, isQuarantined: row.is_quarantined };
}

function toServer(row: z.output<typeof serverRow>, tools: ServerTools | undefined): McpServerRow {
  return {
    id: row.id,
    name: row.code,
    url: row.url,
    transport: row.transport,
    auth: asObject(row.auth),
    settings: asObject(row.settings),
    resets: row.resets,
    includeTools: row.include_tools ?? undefined,
    excludeTools: row.exclude_tools ?? [],
    allowedTiers: readTiers(row.allowed_tiers),
    isListFresh: row.is_list_fresh && tools !== undefined,
    tools: tools?.get(row.id) ?? [],
  };
}

/** One row of an adopted table that cannot be used, such as a tier without a model, must not stop every tenant. */
function readRows<T extends z.ZodType>(schema: T, text: string): z.output<T>[] {
  return z
    .array(z.unknown())
    .parse(parseExactly(text))
    .flatMap((row) => schema.safeParse(row).data ?? []);
}

function toTier(row: z.output<typeof tierRow>): Tier {
  return {
    code: row.code,
    name: row.name ?? row.code,
    modelId: row.model_id,
    isFree: row.is_free === true,
    maxTokens: row.max_tokens ?? undefined,
    temperature: row.temperature ?? undefined,
    modelSilenceSeconds: secondsOf(row.model_silence_seconds),
    rank: row.rank ?? undefined,
    toolConfig: row.tool_config ?? undefined,
  };
}

function toPrice(row: z.output<typeof priceRow>): ModelPrice {
  return {
    modelId: row.model_id,
    inputPer1M: row.input_cost_per_1m,
    outputPer1M: row.output_cost_per_1m,
    cachedInputPer1M: row.cached_input_cost_per_1m,
    cacheWritePer1M: row.cache_write_cost_per_1m,
    cacheWrite1hPer1M: row.cache_write_1h_cost_per_1m,
    reasoningPer1M: row.reasoning_cost_per_1m,
  };
}

function toToolRow(row: z.output<typeof toolRow>): ToolRow {
  const customConfig = readObject(row.custom_config);
  const transportConfig = readObject(row.transport_config);
  return {
    code: row.code,
    // A built-in tool brings its own.
    description: row.description ?? (row.transport === 'builtin' ? '' : (row.name ?? row.code)),
    parametersSchema: row.parameters_schema,
    endpoint: row.mcp_endpoint ?? null,
    authHeader: row.auth_header ?? null,
    timeoutMs: row.timeout_ms ?? null,
    transport: row.transport ?? 'hook',
    mcpTool: row.mcp_tool ?? null,
    allowedTiers: readTiers(row.allowed_tiers),
    customConfig: customConfig.value,
    transportConfig: transportConfig.value,
    ...unusable({ custom_config: customConfig.reason, transport_config: transportConfig.reason }),
  };
}

/** `TEXT[]`, a JSON array or a comma list: adopted databases have all three. Null means every tier. */
function readTiers(value: unknown): readonly string[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(String);
  if (typeof value !== 'string') return [];
  return value
    .replace(/[{}"[\]]/g, '')
    .split(',')
    .map((tier) => tier.trim())
    .filter((tier) => tier !== '');
}

/** Rules and limits may stand in what cannot be read, so the tool must not be offered without it. */
function unusable(reasons: Readonly<Record<string, string | undefined>>): Pick<ToolRow, 'secretFailure'> {
  const [found] = Object.entries(reasons).filter(([, reason]) => reason !== undefined);
  return found === undefined ? {} : { secretFailure: `its ${found[0]} cannot be read: ${found[1] ?? ''}` };
}

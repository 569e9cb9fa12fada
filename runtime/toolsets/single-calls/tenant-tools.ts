import * as z from 'zod/v4';

import type { Log } from '../../contracts/event';
import { callMetaSchema, type CallTask, callTaskSchema } from '../../contracts/task';
import type { TenantSnapshot, TenantStore } from '../../contracts/tenant';
import type { McpServerRow } from '../../contracts/tools/mcp';
import type { EgressFilter } from '../../contracts/tools/tool';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { describeIssues } from '../../errors/describe-issues';
import { type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import type { ServerHealth } from '../../mcp/check-health';
import type { McpServers, TenantServer } from '../../mcp/mcp-servers';
import { readTenantId } from '../../tasks/read-task';
import { parametersOf, type ToolParameter } from '../../tools/schemas/parameters';
import { startDeadline } from '../../util/abort';
import { nameOfRow } from '../agent-of-tenant';
import type { SelectedTools } from '../combine-sources';
import { type CallParts, callTenantTool } from './call-tenant-tool';
import { asInRun, type OfferedTools, type OfferSettings, offerTools, type ToolSelection } from './offer-tools';

/** One tool as people and programs see it. */
interface ToolEntry {
  /** The name that the model calls. */
  readonly name: string;
  /** `server.tool`, for tools of an MCP server. */
  readonly qualified_name?: string;
  /** `hook`, `mcp`, or `code` for a tool of this process. */
  readonly type: string;
  readonly server?: string;
  readonly description: string;
  readonly parameters: readonly ToolParameter[];
  /** It changes nothing, as it is declared. */
  readonly is_read_only?: true;
  /** Changed since it was approved: not offered to a model. */
  readonly is_quarantined?: true;
}

export interface ToolList {
  readonly tools: readonly ToolEntry[];
  readonly warnings: readonly ErrorSummary[];
}

interface ToolQuery {
  readonly tenantId: string;
  /** Only what this tier may use. */
  readonly tier?: string;
  /** The name of an agent, whose rules hold too. */
  readonly agent?: string;
  readonly signal?: AbortSignal;
}

/** What an agent of another program may call. Defaults are those of a run. */
interface OfferQuery extends ToolQuery, OfferSettings {}

interface ToolCallQuery extends OfferQuery {
  readonly tool: string;
  readonly arguments: unknown;
  /** `client_id`, `dialog_id`, `user_id`, `session_id`: who the call is for, as a task's meta says it. */
  readonly meta?: unknown;
  /** What the call belongs to, which then has the tier of a run. Default: nothing, and it stands on the bill as `tools-call`. */
  readonly task?: CallTask;
  /** The host's own rules for outgoing requests, as a run has them. */
  readonly egress?: EgressFilter;
  /** Log of the runs of agents that it asks. Default: that of the runtime. */
  readonly logger?: Log;
}

const querySchema = z.object({
  tenantId: z.string(),
  tier: z.string().optional(),
  agent: z.string().optional(),
  server: z.string().optional(),
});
const offerSchema = querySchema.extend({ allowed: z.array(z.string()).optional(), isApproved: z.boolean().optional() });
const callSchema = offerSchema.extend({
  tool: z.string(),
  meta: callMetaSchema.optional(),
  task: callTaskSchema.optional(),
});

/** A tenant's tools outside a task: to look at, to try, to refresh. Every method rejects with a RuntimeError. */
export interface TenantTools {
  readonly list: (query: ToolQuery) => Promise<ToolList>;
  /**
   * Definitions for an agent that is not ours, whose calls go to `call`. Skills belong to a run and are left out, and so are agents
   * that the agent can ask, where the runtime has no model.
   *
   * @example
   * const { tools } = await runtime.tools.offer({ tenantId, isApproved: false });
   */
  readonly offer: (query: OfferQuery) => Promise<OfferedTools>;
  /** Calls one tool as a run would. `tool` is its name or `server.tool`. A failure is an output with isError. */
  readonly call: (query: ToolCallQuery) => Promise<ToolOutput>;
  /** Asks MCP servers for their lists again; `server` names one of them. */
  readonly refresh: (query: ToolQuery & { readonly server?: string }) => Promise<ToolList>;
  /** The state of the tenant's MCP servers. */
  readonly health: (query: ToolQuery & { readonly server?: string }) => Promise<readonly ServerHealth[]>;
  /** Closes the connections of this process to the tenant's MCP servers, and gives their names; the next call reconnects. */
  readonly disconnect: (query: ToolQuery & { readonly server?: string }) => Promise<readonly string[]>;
}

interface TenantToolsParts extends CallParts, ToolSelection {
  readonly tenants: TenantStore;
  readonly mcp: McpServers;
  readonly timeoutMs: number;
}

export function createTenantTools(parts: TenantToolsParts): TenantTools {
  const list = async ({ tenantId, tier, agent }: ToolQuery, signal: AbortSignal): Promise<ToolList> => {
    const snapshot = await loadTenant(parts, { tenantId, agent });
    const selected = await parts.selectTools({ snapshot, tier, agent, rules: [], servers: [], signal });
    const warnings = [...vaultErrors(snapshot), ...selected.warnings];
    return { tools: [...toEntries(selected), ...quarantined(snapshot)], warnings };
  };
  const bounded = <Q extends ToolQuery, T>(given: Q, work: (query: Q, signal: AbortSignal) => Promise<T>): Promise<T> =>
    within(parts.timeoutMs, given, work);
  return {
    list: (query) => bounded(query, list),
    offer: (given) =>
      bounded(given, async (query, signal) => {
        check(offerSchema, given);
        const snapshot = await loadTenant(parts, query);
        const { tools, warnings } = await offerTools(parts, { ...query, snapshot, signal });
        return { tools, warnings: [...vaultErrors(snapshot), ...warnings] };
      }),
    call: (query) =>
      bounded(query, async ({ tenantId, ...call }, signal) => {
        const { meta } = check(callSchema, query);
        const snapshot = await loadTenant(parts, { ...call, tenantId });
        const settings = call.task === undefined ? {} : asInRun(parts, snapshot, call);
        return callTenantTool(parts, { ...call, meta, snapshot, ...settings, signal });
      }),
    refresh: (given) =>
      bounded(given, async (query, signal) => {
        const servers = await serversOf(parts, query);
        const offers = await parts.mcp.refresh({ tenantId: query.tenantId, servers, signal });
        const { tools, warnings } = await list(query, signal);
        // What the refresh had to say is not said again where the old list still holds.
        const said = new Set(warnings.map(({ message }) => message));
        const fresh = offers.flatMap((offer) => offer.warnings).filter(({ message }) => !said.has(message));
        return { tools, warnings: [...fresh, ...warnings] };
      }),
    health: (given) =>
      bounded(given, async (query, signal) => {
        const servers = await serversOf(parts, query);
        return parts.mcp.health({ tenantId: query.tenantId, servers, signal });
      }),
    disconnect: (given) =>
      bounded(given, async (query) => {
        const servers = await serversOf(parts, query);
        parts.mcp.disconnect({ tenantId: query.tenantId, servers });
        return servers.map(({ name }) => name);
      }),
  };
}

async function within<Q extends ToolQuery, T>(
  timeoutMs: number,
  given: Q,
  work: (query: Q, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  check(querySchema, given);
  const query = { ...given, tenantId: readTenantId(given.tenantId) };
  const deadline = startDeadline(timeoutMs, query.signal);
  try {
    return await work(query, deadline.signal);
  } finally {
    deadline.dispose();
  }
}

/** What calls a library need not be TypeScript. */
function check<T extends z.ZodType>(schema: T, query: unknown): z.output<T> {
  const { data, error } = schema.safeParse(query);
  if (error !== undefined) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(error, 'the query') });
  return data;
}

type TenantsAndAgents = Pick<TenantToolsParts, 'tenants' | 'agents'>;

/** The tenant, with the skills and agents that an agent of this process names beside its own row. */
async function loadTenant(
  { tenants, agents }: TenantsAndAgents,
  { tenantId, agent }: Pick<ToolQuery, 'tenantId' | 'agent'>,
): Promise<TenantSnapshot> {
  const { skills, subAgents } = agents.find(({ name }) => name === agent) ?? {};
  const snapshot = await tenants.load({ tenantId, modelIds: [], agent: nameOfRow(agent), skills, subAgents });
  if (!snapshot.tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId });
  return snapshot;
}

async function serversOf(
  parts: TenantsAndAgents,
  { tenantId, server }: { readonly tenantId: string; readonly server?: string },
): Promise<readonly TenantServer[]> {
  const { servers = [] } = await loadTenant(parts, { tenantId });
  if (server === undefined) return servers;
  const named = servers.filter(({ name }) => name === server);
  if (named.length === 0) throw new RuntimeError('MCP_SERVER_UNKNOWN', { server, tenantId });
  return named;
}

function toEntries({ tools }: SelectedTools): ToolEntry[] {
  return tools.map(({ tool, type, alias }) => ({
    name: tool.definition.name,
    ...(alias === undefined ? {} : { qualified_name: alias, server: alias.slice(0, alias.indexOf('.')) }),
    type,
    description: tool.definition.description,
    parameters: parametersOf(tool.definition.inputSchema),
    ...(tool.isReadOnly === true ? { is_read_only: true } : {}),
  }));
}

/** What is wrong with the vault's key, once, before all that it keeps from being offered. */
function vaultErrors({ tools, servers = [] }: TenantSnapshot): readonly ErrorSummary[] {
  const all = [...tools, ...servers].flatMap(({ vaultError }) => vaultError?.toSummary() ?? []);
  return [...new Map(all.map((error) => [error.message, error])).values()];
}

function quarantined({ servers = [] }: TenantSnapshot): ToolEntry[] {
  const waiting = (server: McpServerRow): ToolEntry[] =>
    server.tools
      .filter(({ isQuarantined }) => isQuarantined)
      .map((tool) => ({
        name: tool.name,
        qualified_name: `${server.name}.${tool.name}`,
        type: 'mcp',
        server: server.name,
        description: tool.description,
        parameters: parametersOf(tool.inputSchema),
        is_quarantined: true,
      }));
  return servers.flatMap(waiting);
}

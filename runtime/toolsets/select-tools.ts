import type { ConnectedTool } from '../contracts/connected';
import type { McpServer, McpTool } from '../contracts/mcp';
import type { TenantSnapshot, ToolRow } from '../contracts/tenant';
import type { Tool, Toolset } from '../contracts/tool';
import type { ToolSettings } from '../contracts/tool-transport';
import type { ErrorSummary } from '../errors/runtime-error';
import type { McpServers, ServerOffer, TenantServer } from '../mcp/mcp-servers';
import { allowedTools, mayHaveToolsOf, type Policy } from '../permissions/allowed-tools';
import { readToolRules, tenantLevels } from '../permissions/read-tool-rules';
import type { BuildServerTools, BuildTools, BuiltTools, TenantTool } from '../tools/build-tools';
import { createToolset } from '../tools/combine-toolsets';
import type { BuildConnectedTools } from '../tools/connected-tools';
import { offeredNames, plainName } from '../tools/offered-names';
import { refuseForeignServers } from './allowed-servers';

export interface SelectedTools {
  readonly toolset: Toolset;
  /** The same tools, with where they come from. */
  readonly tools: readonly TenantTool[];
  /** Rows that cannot be offered, servers that did not answer, and listed names that do not exist. */
  readonly warnings: readonly ErrorSummary[];
}

interface SelectToolsRequest {
  readonly snapshot: TenantSnapshot;
  /** Undefined: whatever the tier. */
  readonly tier?: string;
  /** The name of the agent, whose rules stand in the tenant's settings. */
  readonly agent?: string;
  /** Rules of the task or the caller, in the shape of tool_config; they can only narrow. */
  readonly rules: TaskRules;
  /** Servers given with the run, beside the tenant's own. */
  readonly servers: readonly TenantServer[];
  /** What the host has connected to this run. */
  readonly connected?: readonly ConnectedTool[];
  readonly signal: AbortSignal;
}

export interface TaskRules {
  readonly enabled_tools?: readonly string[];
  readonly disabled_tools?: readonly string[];
  readonly tool_permissions?: unknown;
}

/** Rejects with POLICY_INVALID when rules cannot be read: none of them may fall away; with MCP_HOST_FORBIDDEN for a server of the run. */
export type SelectTools = (request: SelectToolsRequest) => Promise<SelectedTools>;

interface ToolSources {
  readonly buildTools: BuildTools;
  readonly buildServerTools: BuildServerTools;
  readonly buildConnectedTools: BuildConnectedTools;
  readonly mcp: Pick<McpServers, 'discover'>;
  /** Offered to every tenant, after the tenant's own. */
  readonly extraTools: readonly Tool[];
}

/** More sets of rules than this for the same rows, and all are forgotten. */
const REMEMBERED_RULES = 50;

/**
 * Which tools a run has: the tenant's own, those of its MCP servers, the plugged-in ones and what is connected to the run,
 * filtered by policy. While none of them has changed, the same rules give the same toolset object, so that its definitions
 * are serialised once. A run with connected tools has a toolset of its own.
 */
export function createToolSelector(sources: ToolSources): SelectTools {
  const remembered = new WeakMap<readonly ToolRow[], Map<string, Remembered>>();
  return async (request) => {
    const { snapshot, tier, agent, rules, connected = [] } = request;
    refuseForeignServers(snapshot.tenant.settings, request.servers);
    const rows = snapshot.tools;
    const ofRows = remembered.get(rows) ?? new Map<string, Remembered>();
    remembered.set(rows, ofRows);
    const key = JSON.stringify([rulesVersion(snapshot), tier, agent, rules]);
    const before = ofRows.get(key);
    const policy = before?.policy ?? readPolicy(request);
    const offers = await discover(sources, request, policy);
    if (connected.length > 0) return select(sources, { rows, offers, connected, policy });
    if (before !== undefined && isSame(before.offers, offers)) return before.selected;
    const selected = await select(sources, { rows, offers, connected, policy });
    if (ofRows.size >= REMEMBERED_RULES) ofRows.clear();
    ofRows.set(key, { policy, offers, selected });
    return selected;
  };
}

interface Remembered {
  readonly policy: Policy;
  readonly offers: readonly ServerOffer[];
  readonly selected: SelectedTools;
}

const NO_OFFERS: readonly ServerOffer[] = [];

/** Two snapshots with the same one have the same rules. */
function rulesVersion({ policyVersion, tenant, tiers }: TenantSnapshot): unknown {
  return policyVersion ?? [tenant.settings.toolConfig, tiers.map(({ toolConfig }) => toolConfig)];
}

/** Rules of the tier, the tenant, the agent and the task. */
function readPolicy({ snapshot, tier, agent, rules }: SelectToolsRequest): Policy {
  const ofTier = snapshot.tiers.find(({ code }) => code === tier)?.toolConfig;
  return {
    tier,
    levels: [
      readToolRules(ofTier, 'elo_agent_tiers.tool_config'),
      ...tenantLevels(snapshot.tenant.settings.toolConfig, agent),
      readToolRules(rules, 'config'),
    ],
    asked: rules.enabled_tools,
  };
}

/** A server that the rules leave no tool of is not asked. */
async function discover(
  sources: ToolSources,
  request: SelectToolsRequest,
  policy: Policy,
): Promise<readonly ServerOffer[]> {
  const all = [...(request.snapshot.servers ?? []), ...request.servers];
  if (all.length === 0) return NO_OFFERS;
  return sources.mcp.discover({
    tenantId: request.snapshot.tenant.id,
    servers: all,
    signal: request.signal,
    isWanted: ({ name, allowedTiers }) => mayHaveToolsOf({ name, allowedTiers }, policy),
  });
}

function isSame(before: readonly ServerOffer[], now: readonly ServerOffer[]): boolean {
  return (
    before.length === now.length &&
    now.every(({ server, tools, warnings }, index) => {
      const known = before[index];
      return known?.server === server && known?.tools === tools && known.warnings === warnings;
    })
  );
}

interface Offered {
  readonly rows: readonly ToolRow[];
  readonly offers: readonly ServerOffer[];
  readonly connected: readonly ConnectedTool[];
  readonly policy: Policy;
}

/** Each source makes way for the names of those that were there before it. */
async function select(sources: ToolSources, { rows, offers, connected, policy }: Offered): Promise<SelectedTools> {
  const own = await sources.buildTools(rows);
  const extra: BuiltTools = { tools: sources.extraTools.map((tool) => ({ tool, type: 'code' })), warnings: [] };
  const ofServers = await sources.buildServerTools(serverTools(offers, namesOf([own, extra])));
  const ofHost = await sources.buildConnectedTools(connected, namesOf([own, extra, ofServers]));
  const allowed = allowedTools([...own.tools, ...ofServers.tools, ...extra.tools, ...ofHost.tools], policy);
  return {
    tools: allowed.tools,
    toolset: createToolset(allowed.tools.map(({ tool }) => tool)),
    warnings: [
      ...own.warnings,
      ...offers.flatMap(({ warnings }) => warnings),
      ...ofServers.warnings,
      ...ofHost.warnings,
      ...allowed.warnings,
    ],
  };
}

function namesOf(sources: readonly BuiltTools[]): ReadonlySet<string> {
  return new Set(sources.flatMap(({ tools }) => tools.map(({ tool }) => tool.definition.name)));
}

/** Every tool of every server under a name that no other tool has. */
function serverTools(offers: readonly ServerOffer[], taken: ReadonlySet<string>): Parameters<BuildServerTools>[0] {
  const all = offers.flatMap(({ server, tools }) =>
    server === undefined ? [] : tools.map((tool) => ({ server, tool, wanted: `${server.name}_${tool.name}` })),
  );
  const names = offeredNames(
    all.map(({ server, tool, wanted }) => ({
      name: wanted,
      identity: [server.name, tool.name, String(server.id ?? server.url)],
    })),
    taken,
  );
  return all.map(({ server, tool, wanted }, index) => ({
    settings: toSettings(names[index] as string, server, tool),
    allowedTiers: server.allowedTiers,
    alias: `${server.name}.${tool.name}`,
    formerName: plainName(wanted),
  }));
}

function toSettings(name: string, server: McpServer, tool: McpTool): ToolSettings {
  return {
    name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    endpoint: server.url,
    // The connection knows the credential, and blanks it in answers.
    headers: {},
    timeoutMs: server.callTimeoutMs,
    mcpTool: tool.name,
    config: {},
    allowedHosts: [],
    secrets: [],
    server,
    isRepeatable: tool.isRepeatable,
  };
}

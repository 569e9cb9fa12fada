import type { McpServer, McpTool } from './contracts/mcp';
import type { TenantSnapshot, ToolRow } from './contracts/tenant';
import type { Tool, Toolset } from './contracts/tool';
import type { ToolSettings } from './contracts/tool-transport';
import type { ErrorSummary } from './errors/runtime-error';
import type { McpServers, ServerOffer, TenantServer } from './mcp/mcp-servers';
import { offeredNames, qualifiedName } from './mcp/tool-names';
import { allowedTools, mayHaveToolsOf, type ToolRules } from './permissions/allowed-tools';
import type { BuildServerTools, BuildTools, TenantTool } from './tools/build-tools';
import { createToolset } from './tools/combine-toolsets';

export interface SelectedTools {
  readonly toolset: Toolset;
  /** The same tools, with where they come from. */
  readonly tools: readonly TenantTool[];
  /** Rows that cannot be offered, servers that did not answer, and listed names that do not exist. */
  readonly warnings: readonly ErrorSummary[];
}

export interface SelectToolsRequest extends ToolRules {
  readonly snapshot: TenantSnapshot;
  /** Servers given with the run, beside the tenant's own. */
  readonly servers: readonly TenantServer[];
  readonly signal: AbortSignal;
}

export type SelectTools = (request: SelectToolsRequest) => Promise<SelectedTools>;

export interface ToolSources {
  readonly buildTools: BuildTools;
  readonly buildServerTools: BuildServerTools;
  readonly mcp: Pick<McpServers, 'discover'>;
  /** Offered to every tenant, after the tenant's own. */
  readonly extraTools: readonly Tool[];
}

/** More sets of rules than this for the same rows, and all are forgotten. */
const REMEMBERED_RULES = 50;

/**
 * Which tools a run has: the tenant's own, those of its MCP servers, and the plugged-in ones, filtered by policy.
 * While none of them has changed, the same rules give the same toolset object, so that its definitions are
 * serialised once.
 */
export function createToolSelector(sources: ToolSources): SelectTools {
  const remembered = new WeakMap<readonly ToolRow[], Map<string, Remembered>>();
  return async ({ snapshot, servers, signal, ...rules }) => {
    const rows = snapshot.tools;
    const offers = await discover(sources, { snapshot, servers, signal, ...rules });
    const ofRows = remembered.get(rows) ?? new Map<string, Remembered>();
    remembered.set(rows, ofRows);
    const key = JSON.stringify([rules.tier, rules.allowList]);
    const before = ofRows.get(key);
    if (before !== undefined && isSame(before.offers, offers)) return before.selected;
    const selected = select(sources, { rows, offers, rules });
    if (ofRows.size >= REMEMBERED_RULES) ofRows.clear();
    ofRows.set(key, { offers, selected });
    return selected;
  };
}

interface Remembered {
  readonly offers: readonly ServerOffer[];
  readonly selected: SelectedTools;
}

const NO_OFFERS: readonly ServerOffer[] = [];

/** A server that the rules leave no tool of is not asked. */
async function discover(sources: ToolSources, request: SelectToolsRequest): Promise<readonly ServerOffer[]> {
  const all = [...(request.snapshot.servers ?? []), ...request.servers];
  if (all.length === 0) return NO_OFFERS;
  return sources.mcp.discover({
    tenantId: request.snapshot.tenant.id,
    servers: all,
    signal: request.signal,
    isWanted: ({ name, allowedTiers }) => mayHaveToolsOf({ name, allowedTiers }, request),
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

function select(
  sources: ToolSources,
  given: { readonly rows: readonly ToolRow[]; readonly offers: readonly ServerOffer[]; readonly rules: ToolRules },
): SelectedTools {
  const own = sources.buildTools(given.rows);
  const extra = sources.extraTools.map((tool): TenantTool => ({ tool, type: 'code' }));
  const taken = new Set([...own.tools, ...extra].map(({ tool }) => tool.definition.name));
  const ofServers = sources.buildServerTools(serverTools(given.offers, taken));
  const allowed = allowedTools([...own.tools, ...ofServers.tools, ...extra], given.rules);
  return {
    tools: allowed.tools,
    toolset: createToolset(allowed.tools.map(({ tool }) => tool)),
    warnings: [
      ...own.warnings,
      ...given.offers.flatMap(({ warnings }) => warnings),
      ...ofServers.warnings,
      ...allowed.warnings,
    ],
  };
}

/** Every tool of every server under a name that no other tool has. */
function serverTools(offers: readonly ServerOffer[], taken: ReadonlySet<string>): Parameters<BuildServerTools>[0] {
  const all = offers.flatMap(({ server, tools }) =>
    server === undefined ? [] : tools.map((tool) => ({ server, tool })),
  );
  const names = offeredNames(
    all.map(({ server, tool }) => ({ server: server.name, tool: tool.name, place: String(server.id ?? server.url) })),
    taken,
  );
  return all.map(({ server, tool }, index) => ({
    settings: toSettings(names[index] as string, server, tool),
    allowedTiers: server.allowedTiers,
    alias: qualifiedName({ server: server.name, tool: tool.name }),
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
    fixedArguments: {},
    mcpTool: tool.name,
    config: {},
    allowedHosts: [],
    secrets: [],
    server,
    isRepeatable: tool.isRepeatable,
  };
}

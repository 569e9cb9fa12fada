import type { McpServer, McpTool } from '../contracts/tools/mcp';
import type { ToolSettings } from '../contracts/tools/tool-transport';
import { describeError } from '../errors/runtime-error';
import type { McpServers, ServerOffer } from '../mcp/mcp-servers';
import { mayHaveToolsOf } from '../permissions/allowed-tools';
import type { BuildServerTool } from '../tools/build-tools';
import { refuseForeignServers } from './allowed-servers';
import { NO_TOOLS, type OfferedTool, type ToolOffer, type ToolSource } from './tool-source';

/** The tools of the tenant's MCP servers, and of those given with the run. Rejects with MCP_HOST_FORBIDDEN for one of the latter. */
export function createMcpSource(mcp: Pick<McpServers, 'discover'>, build: BuildServerTool): ToolSource {
  const foundFor = new WeakMap<ToolOffer, readonly ServerOffer[]>();
  return {
    offer: async ({ snapshot, servers, policy, signal }, before) => {
      refuseForeignServers(snapshot.tenant.settings, servers);
      const all = [...(snapshot.servers ?? []), ...servers];
      if (all.length === 0) return NO_TOOLS;
      const found = await mcp.discover({
        tenantId: snapshot.tenant.id,
        servers: all,
        signal,
        // A server that the rules leave no tool of is not asked.
        isWanted: ({ name, allowedTiers }) => mayHaveToolsOf({ name, allowedTiers }, policy),
      });
      const known = before && foundFor.get(before);
      if (before !== undefined && known !== undefined && isSame(known, found)) return before;
      const offer = {
        tools: found.flatMap(({ server, tools }) =>
          server === undefined ? [] : tools.map((tool) => toOffered(server, tool, build)),
        ),
        warnings: found.flatMap(({ warnings }) => warnings),
      };
      foundFor.set(offer, found);
      return offer;
    },
  };
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

function toOffered(server: McpServer, tool: McpTool, build: BuildServerTool): OfferedTool {
  return {
    name: `${server.name}_${tool.name}`,
    identity: [server.name, tool.name, String(server.id ?? server.url)],
    type: 'mcp',
    allowedTiers: server.allowedTiers,
    alias: `${server.name}.${tool.name}`,
    build: (name) => build(toSettings(name, server, tool)),
    unusable: (reason) =>
      describeError('MCP_TOOLS_SKIPPED', { server: server.name, count: 1, tools: tool.name, reason }),
  };
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
    isReadOnly: tool.isReadOnly,
  };
}

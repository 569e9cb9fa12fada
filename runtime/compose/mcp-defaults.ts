import { DEFAULTS } from '../config/runtime-config';
import type { McpServerDefaults } from '../mcp/read-server';

/** What holds for an MCP server whose row says nothing else. */
export const MCP_SERVER_DEFAULTS: McpServerDefaults = {
  discoveryTimeoutMs: DEFAULTS.mcpDiscoveryTimeoutMs,
  callTimeoutMs: DEFAULTS.mcpCallTimeoutMs,
  listTtlMs: DEFAULTS.mcpListTtlMs,
};

import type { McpServer } from '../../../runtime/contracts/tools/mcp';

/** An MCP server with everything that a test does not name at a plain value. */
export function anMcpServer(given: Partial<McpServer> = {}): McpServer {
  return {
    name: 'files',
    url: 'http://mcp/',
    transport: 'http',
    auth: { kind: 'none' },
    excludeTools: [],
    discoveryTimeoutMs: 5000,
    callTimeoutMs: 5000,
    listTtlMs: 60_000,
    allowedHosts: [],
    answersWithDefaults: false,
    ...given,
  };
}

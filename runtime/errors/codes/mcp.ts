import { caller, family, tenant, upstream, upstreamLater, warning } from '../code-row';

/** MCP servers. */
export const MCP_CODES = family('MCP servers', {
  MCP_SERVER_UNKNOWN: caller(
    'Tenant {tenantId} uses no MCP server "{server}".',
    'See "universal-ai-agent mcp-server health" for the servers of a tenant, or add one with "mcp-server add".',
  ),
  MCP_SERVER_EXISTS: caller(
    'MCP server "{server}" is registered with another address or transport: {url}.',
    'Choose another name, or change the row in elo_agent_mcp_servers.',
  ),
  MCP_SERVER_INVALID: warning(
    tenant(
      'MCP server "{server}" cannot be used: {reason}.',
      'Correct the row in elo_agent_mcp_servers or elo_t_tenant_mcp_servers, or the option MCP Servers.',
    ),
  ),
  MCP_HOST_FORBIDDEN: tenant(
    'MCP server "{server}" of the workflow is refused: the tenant does not allow the host {host}.',
    'Use an allowed server, or add the host to settings.mcp_allowed_hosts of the tenant.',
  ),
  MCP_SERVER_SKIPPED: warning(
    upstreamLater(
      'MCP server "{server}" gave no tools: {reason}.',
      'Check that the server is running; "universal-ai-agent mcp-server health" asks it again.',
    ),
  ),
  MCP_LOGIN_REQUIRED: warning(
    tenant(
      'MCP server "{server}" asks for a login.',
      'Run "universal-ai-agent mcp-server login {server} --tenant {tenantId}".',
    ),
  ),
  MCP_CREDENTIAL_REFUSED: warning(
    tenant('MCP server "{server}" refuses the credential: {reason}.', 'Provide another credential for this server.'),
  ),
  MCP_TOOLS_SKIPPED: warning(
    upstream(
      '{count} tool(s) of MCP server "{server}" are not offered because {reason}: {tools}.',
      'Correct the tools on the server, or leave them out with exclude_tools.',
    ),
  ),
  MCP_TOOLS_QUARANTINED: warning(
    tenant(
      '{count} tool(s) of MCP server "{server}" are new or changed, and wait for approval: {tools}.',
      'Review them with "universal-ai-agent tool list", then run "universal-ai-agent mcp-server approve {server}".',
    ),
  ),
});

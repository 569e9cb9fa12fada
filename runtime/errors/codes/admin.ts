import { caller, family, upstreamLater } from '../code-row';

/** Administration: what the node, the command line and the library change. */
export const ADMIN_CODES = family('Administration', {
  ADMIN_INPUT_INVALID: caller(
    'The input of "{operation}" is not valid: {issues}.',
    'Correct the fields that the message names. Nothing was changed.',
  ),
  TENANT_EXISTS: caller(
    'There is a tenant with the ID {tenantId} already.',
    'Leave the ID out to have one made, or update the tenant. Nothing was changed.',
  ),
  TENANT_AMBIGUOUS: caller(
    'Several tenants have the name "{name}": {ids}.',
    'Give the ID of the one that you mean. Nothing was changed.',
  ),
  TENANT_ACTIVE: caller(
    'Tenant {tenantId} is active, so it is not deleted.',
    'Deactivate it first. Deleting takes its tools, secrets, runs and bill along.',
  ),
  TENANT_IN_USE: caller(
    'Tenant {tenantId} cannot be deleted: {reason}.',
    'Delete the rows of other tables that refer to it first, or leave it deactivated.',
  ),
  TENANT_COLUMN_MISSING: caller(
    'The table {table} has no column "{column}", so this cannot be stored.',
    'Add the column to your table of tenants, or leave the field out. Nothing was changed.',
  ),
  AGENT_EXISTS: caller(
    'There is an agent with the name "{agent}" already.',
    'Choose another name, or update the agent.',
  ),
  AGENT_UNKNOWN: caller('{owner} no agent "{agent}".', 'List the agents, or create this one. Nothing was changed.'),
  AGENT_CYCLE: caller(
    'The agent "{agent}" cannot have "{subAgent}" as a sub-agent: that one can ask "{agent}", itself or through others.',
    'Take one of them out of the sub-agents of the other. Nothing was changed.',
  ),
  SKILL_EXISTS: caller(
    'There is a skill with the name "{skill}" already.',
    'Choose another name, or update the skill.',
  ),
  SKILL_UNKNOWN: caller('{owner} no skill "{skill}".', 'List the skills, or create this one. Nothing was changed.'),
  SKILL_INVALID: caller(
    'The skill "{skill}" cannot be used: {issues}.',
    'Correct its SKILL.md: agentskills.io/specification. Nothing was changed.',
  ),
  TOOL_EXISTS: caller('There is a tool with the code "{tool}" already.', 'Choose another code, or update the tool.'),
  TOOL_UNKNOWN: caller(
    'The catalogue has no tool "{tool}".{nearest}',
    'List the tools, or create this one. Nothing was changed.',
  ),
  TOOL_NOT_GIVEN: caller(
    'Tenant {tenantId} was not given the tool "{tool}".',
    'Enable the tool for the tenant first. Nothing was changed.',
  ),
  TOOL_IN_USE: caller(
    '{tenants} tenant(s) use the tool "{tool}", so it is not deleted.',
    'Disable it for them first, or set it inactive for everybody.',
  ),
  TOOL_INVALID: caller('The tool "{tool}" cannot be used: {reason}.', 'Correct the field. Nothing was changed.'),
  ADDRESS_FORBIDDEN: caller(
    'The address {address} is refused: {reason}.',
    'Use an address that this installation may reach. Nothing was changed.',
  ),
  LOGIN_UNKNOWN: caller(
    'Tenant {tenantId} has no OAuth login at MCP server "{server}".',
    'List the logins of the tenant for those that it has.',
  ),
  SERVER_UNREACHABLE: upstreamLater(
    'The server {server} cannot be used: {reason}.',
    'Check that it is running, and that this machine may reach it.',
  ),
  ROWS_REFUSED: caller(
    '{count} row(s) cannot be read, so what they are for does not work; the first: {first}.',
    'Run `universal-ai-agent diagnostics schema` for all of them, and correct them.',
  ),
  LEDGER_ENDS_REFUSED: caller(
    'The ledger refuses the ends of {count} run(s), whose usage is not on the bill.',
    'See `universal-ai-agent queue status`, and book them by hand.',
  ),
  USAGE_TOO_LONG: caller(
    'The bill has more than {most} lines.',
    'Name a tenant, or a shorter time with from and until.',
  ),
  SESSION_NOT_FOUND: caller(
    'Tenant {tenantId} has no session "{session}" {of}.',
    'List the sessions of the tenant, each with its agent. Messages are kept as long as session_days of the tenant says.',
  ),
  SESSIONS_TOO_LONG: caller(
    'The sessions together have more than {most} messages, or more than 50 MB.',
    'Name an agent, or a session.',
  ),
  RUN_NOT_FOUND: caller(
    'Tenant {tenantId} has no run or task "{id}".',
    'List the runs of the tenant. Results are kept for 30 days.',
  ),
});

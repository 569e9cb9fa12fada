import { family, tenant, warning } from '../code-row';

/** Tenants and their settings. */
export const TENANTS_CODES = family('Tenants and their settings', {
  TENANT_NOT_FOUND: tenant(
    'Tenant "{tenantId}" does not exist.',
    'Check the tenant id, and that the credential points at the right database.',
  ),
  TENANT_INACTIVE: tenant('Tenant "{tenantId}" is not active.', 'Set is_active of the tenant row to true.'),
  SETTING_INVALID: tenant(
    'The setting {setting} of the tenant cannot be read: {reason}.',
    'Correct it in the settings of the tenant row; until then nothing runs for this tenant.',
  ),
  POLICY_INVALID: tenant(
    'The rules in {where} cannot be read: {reason}.',
    'Correct them; until then no tool that depends on them is offered.',
  ),
  RULE_UNMATCHED: tenant(
    'The rule {rule} matches nothing: {reason}.',
    'Correct the name. If a workflow or your code adds the tool, end its name with a star. Declare arguments in the schema of the tool.',
  ),
  AGENT_NOT_FOUND: tenant(
    'The tenant has no agent "{agent}".',
    'Check the name. Agent: List of the Admin node, or `agent list`, shows the agents of the tenant.',
  ),
  AGENT_INACTIVE: tenant('The agent "{agent}" is not active.', 'Activate it: Agent: Update, or `agent update`.'),
  AGENT_INVALID: tenant(
    'The agent "{agent}" cannot be read: {issues}.',
    'Correct its row; until then no run of it begins.',
  ),
  AGENT_UNDEFINED: warning(
    tenant(
      'The agent "{agent}" is not defined anywhere, so its name changes nothing.',
      'Create it (Agent: Create, or `agent create`), or leave the name out.',
    ),
  ),
  SUB_AGENT_NOT_LOADED: warning(
    tenant(
      'The agent "{agent}" cannot ask "{subAgent}": the tenant has no active agent of this name.',
      'Create or activate it, or take it out of the sub-agents of "{agent}".',
    ),
  ),
  SKILL_NOT_LOADED: warning(
    tenant(
      'The tenant has no active skill "{skill}", so the run continues without it.',
      'Check the name. Skill: List of the Admin node, or `skill list`, shows the skills of the tenant.',
    ),
  ),
  SKILLS_LEFT_OUT: warning(
    tenant('Only {count} skills can be offered to a run; the others are left out.', 'Name the skills that it needs.'),
  ),
  SKILL_TOOLS_MISSING: warning(
    tenant(
      'The skill "{skill}" allows tools that the run does not have: {tools}.',
      'Enable them for the tenant, allow them to the agent, or correct allowed-tools of the skill. Argument patterns in parentheses are not supported.',
    ),
  ),
});

import type * as z from 'zod/v4';

import { createAgent, setAgent, updateAgent } from './agents/change-agent';
import { deleteAgent } from './agents/delete-agent';
import { getAgent, listAgents } from './agents/list-agents';
import type { Admin } from './contract/admin';
import { addDemoTenant, checkSchema, prepareDatabase } from './diagnostics/prepare-database';
import { summarizeHealth } from './diagnostics/summarize-health';
import { listPrices } from './prices/list-prices';
import { setPrice } from './prices/set-price';
import { syncPrices } from './prices/sync-prices';
import { decideApproval, listApprovals } from './runs/decide-approval';
import { getRun } from './runs/get-run';
import { listAudit } from './runs/list-audit';
import { listRuns } from './runs/list-runs';
import { deleteSecret } from './secrets/delete-secret';
import { listSecrets } from './secrets/list-secrets';
import { encryptSecrets, rotateKey } from './secrets/rotate-key';
import { setSecret } from './secrets/set-secret';
import { addServer } from './servers/add-server';
import { approveTools } from './servers/approve-tools';
import { checkServersHealth, refreshServers } from './servers/ask-servers';
import { disconnectServers, removeServer } from './servers/disconnect-servers';
import { listLogins } from './servers/list-logins';
import { listServers } from './servers/list-servers';
import { revokeLogin } from './servers/revoke-login';
import { deleteSession } from './sessions/delete-session';
import { exportSessions } from './sessions/export-sessions';
import { getSession, listSessions } from './sessions/list-sessions';
import { createSkill, setSkill, updateSkill } from './skills/change-skill';
import { deleteSkill } from './skills/delete-skill';
import { getSkill, listSkills, validateSkills } from './skills/list-skills';
import { activateTenant, deactivateTenant } from './tenants/activate-tenant';
import { createTenant, setTenant } from './tenants/create-tenant';
import { deleteTenant } from './tenants/delete-tenant';
import { getTenant } from './tenants/get-tenant';
import { listTenants } from './tenants/list-tenants';
import { updateTenant } from './tenants/update-tenant';
import { listTiers } from './tiers/list-tiers';
import { setTier } from './tiers/set-tier';
import { addBuiltInTools } from './tools/add-built-in-tools';
import { createTool, setTool } from './tools/create-tool';
import { deleteTool } from './tools/delete-tool';
import { disableTool, enableTool, setToolLimits } from './tools/enable-tool';
import { executeTool } from './tools/execute-tool';
import { listTools } from './tools/list-tools';
import { setSqlRole } from './tools/set-sql-role';
import { updateTool } from './tools/update-tool';
import { exportUsage } from './usage/export-usage';
import { reportUsage } from './usage/report-usage';
import { sumUsage, topSpenders, unknownUsage } from './usage/sum-usage';

/** All operations of administration, in the order in which they are first needed; the panel begins with the first of a resource. */
export const OPERATIONS = [
  ...[summarizeHealth, prepareDatabase, checkSchema, addDemoTenant],
  ...[createTenant, setTenant, getTenant, listTenants, updateTenant, deactivateTenant, activateTenant, deleteTenant],
  ...[listTiers, setTier],
  ...[listPrices, setPrice, syncPrices],
  ...[createTool, setTool, listTools, updateTool, deleteTool, enableTool, disableTool, setToolLimits, executeTool],
  ...[addBuiltInTools, setSqlRole],
  ...[createAgent, setAgent, getAgent, listAgents, updateAgent, deleteAgent],
  ...[createSkill, setSkill, getSkill, listSkills, validateSkills, updateSkill, deleteSkill],
  ...[addServer, listServers, checkServersHealth, refreshServers, approveTools, disconnectServers, removeServer],
  ...[setSecret, listSecrets, deleteSecret, rotateKey, encryptSecrets],
  ...[listLogins, revokeLogin],
  ...[listRuns, getRun, listApprovals, decideApproval, listAudit],
  ...[listSessions, getSession, exportSessions, deleteSession],
  ...[sumUsage, topSpenders, unknownUsage, exportUsage, reportUsage],
] as const;

/** What people call the resources, each in the singular. */
export const RESOURCES = {
  diagnostics: 'Diagnostic',
  tenant: 'Tenant',
  tier: 'Tier',
  price: 'Model',
  tool: 'Tool',
  agent: 'Agent',
  skill: 'Skill',
  mcpServer: 'MCP Server',
  secret: 'Secret',
  oauthLogin: 'OAuth Login',
  sqlRole: 'SQL Role',
  run: 'Run',
  approval: 'Approval',
  audit: 'Audit',
  session: 'Session',
  usage: 'Usage',
} as const satisfies Readonly<Record<keyof Admin, string>>;

type Declared = (typeof OPERATIONS)[number];
type Names = { [Resource in keyof Admin]: `${Resource}.${Extract<keyof Admin[Resource], string>}` }[keyof Admin];

/** The public function of the name. */
type Public<Name> = Name extends `${infer Resource extends keyof Admin}.${infer Verb}`
  ? Admin[Resource][Verb & keyof Admin[Resource]]
  : never;

/** The name of an operation whose input or result is not that of its public function. */
type Fault<Row> = Row extends { readonly name: infer Name; readonly input: infer Input; readonly run: infer Run }
  ? Public<Name> extends (...given: infer Given) => infer Promised
    ? Run extends (...given: never) => Promised
      ? [z.input<Input>] extends [Given extends readonly [] ? unknown : NonNullable<Given[0]>]
        ? never
        : Name
      : Name
    : Name
  : never;

interface Misnamed {
  readonly missing: Exclude<Names, Declared['name']>;
  readonly unknown: Exclude<Declared['name'], Names>;
  readonly otherwise: Fault<Declared>;
}

/** Names of public functions that no operation is declared for, and of operations that are otherwise than those. */
export type Misdeclared = Misnamed[keyof Misnamed];

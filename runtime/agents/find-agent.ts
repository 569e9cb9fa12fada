import type { Agent, AgentDefinition, AgentRow, TenantSnapshot } from '../contracts/tenant';
import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { agentSchema } from './agent-schema';

/** Where an agent may be, beside the tenant's rows. */
interface Elsewhere {
  /** Agents of this process. */
  readonly code: readonly AgentDefinition[];
  /** Names with rules in the tenant's settings. */
  readonly withRules: readonly string[];
}

type Rows = Pick<TenantSnapshot, 'agents'>;

/**
 * The one way from a name to an agent: the tenant's own row, the row for all tenants, code, then rules only. Throws
 * AGENT_INACTIVE, and AGENT_INVALID for a row that cannot be read: what it narrows must not fall away.
 */
export function findAgent(name: string, { agents }: Rows, { code, withRules }: Elsewhere): Agent | undefined {
  const rows = agents?.rows ?? [];
  const row = rows.find(({ tenantId }) => tenantId !== undefined) ?? rows[0];
  if (row !== undefined) {
    if (!row.isActive) throw new RuntimeError('AGENT_INACTIVE', { agent: name });
    return { ...readAgent(row, name), source: 'virtual', version: row.version };
  }
  const ofCode = code.find((agent) => agent.name === name);
  if (ofCode !== undefined) return { ...ofCode, source: 'code' };
  return withRules.includes(name) ? { name, source: 'rules' } : undefined;
}

/** Tells whether the tenant has agents of any name, so that a name that is none must be a mistake. */
export function hasAgents({ agents }: Rows, { code, withRules }: Elsewhere): boolean {
  return agents?.isAny === true || code.length > 0 || withRules.length > 0;
}

const read = new WeakMap<AgentRow, AgentDefinition>();

function readAgent(row: AgentRow, name: string): AgentDefinition {
  const known = read.get(row);
  if (known !== undefined) return known;
  const agent = checkAgent(row.definition, name);
  read.set(row, agent);
  return agent;
}

/** Checks a definition. Throws AGENT_INVALID. */
export function checkAgent(definition: unknown, name: string): AgentDefinition {
  const { data, error } = agentSchema.safeParse(definition);
  if (error === undefined) return data;
  throw new RuntimeError('AGENT_INVALID', { agent: name, issues: describeIssues(error, 'its definition') });
}

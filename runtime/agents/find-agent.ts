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

/**
 * The one way from a name to an agent: the tenant's own row, the row for all tenants, code, then rules only. Undefined where
 * the tenant has none of these under any name, so that the name is a label. Throws AGENT_NOT_FOUND, and AGENT_INVALID for a row that
 * cannot be read: what it narrows must not fall away.
 */
export function findAgent(
  name: string,
  { agents = { rows: [], isAny: false } }: Pick<TenantSnapshot, 'agents'>,
  { code, withRules }: Elsewhere,
): Agent | undefined {
  const row = agents.rows.find(({ isShared }) => !isShared) ?? agents.rows[0];
  if (row !== undefined) {
    if (!row.isActive) throw new RuntimeError('AGENT_INACTIVE', { agent: name });
    return { ...readAgent(row, name), source: 'virtual', version: row.version };
  }
  const ofCode = code.find((agent) => agent.name === name);
  if (ofCode !== undefined) return { ...ofCode, source: 'code' };
  if (withRules.includes(name)) return { name, source: 'rules' };
  if (!agents.isAny && code.length === 0 && withRules.length === 0) return undefined;
  throw new RuntimeError('AGENT_NOT_FOUND', { agent: name });
}

const read = new WeakMap<AgentRow, AgentDefinition>();

function readAgent(row: AgentRow, name: string): AgentDefinition {
  const known = read.get(row);
  if (known !== undefined) return known;
  const { data, error } = agentSchema.safeParse(row.definition);
  if (error !== undefined) {
    throw new RuntimeError('AGENT_INVALID', { agent: name, issues: describeIssues(error, 'the agent') });
  }
  read.set(row, data);
  return data;
}

import type { AgentDefinition, TenantSnapshot, TenantStore, ToolRow } from '../contracts/tenant';
import type { SkillEntry, SkillFiles, SkillReader, SkillRow } from '../contracts/tools/skill';
import { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';

/** A tenant, with what is not named left empty. */
export interface MemoryTenant extends Partial<Omit<TenantSnapshot, 'tenant' | 'tools' | 'agents' | 'skills'>> {
  /** A UUID. */
  readonly id: string;
  /** Default true. */
  readonly isActive?: boolean;
  readonly settings?: TenantSnapshot['tenant']['settings'];
  readonly tools?: readonly (Partial<ToolRow> & Pick<ToolRow, 'code'>)[];
  readonly agents?: readonly AgentDefinition[];
  readonly skills?: readonly MemorySkill[];
}

/** A skill with the instructions of its SKILL.md, and the other files of its folder. */
export interface MemorySkill extends SkillEntry {
  readonly instructions: string;
  readonly files?: SkillFiles;
}

/**
 * Tenants from memory with their agents and skills, for tests of programs that use the library: plug it in as `tenants`, and as
 * `skills` if they have some. Any other id rejects with TENANT_NOT_FOUND.
 *
 * @example
 * createMemoryTenants([{ id, tools: [{ code: 'find_orders', endpoint: 'http://127.0.0.1:8080/orders' }] }])
 */
export function createMemoryTenants(tenants: readonly MemoryTenant[]): TenantStore & SkillReader {
  const known = new Map(
    tenants.map(({ agents = [], skills = [], ...tenant }) => [
      tenant.id.toLowerCase(),
      { agents, skills, snapshot: toSnapshot(tenant) },
    ]),
  );
  return {
    load: ({ tenantId, agent, skills: named = [] }) => {
      const found = known.get(tenantId.toLowerCase());
      if (found === undefined) return Promise.reject(new RuntimeError('TENANT_NOT_FOUND', { tenantId }));
      const { agents, skills } = found;
      const wanted = [...named, ...agents.filter(({ name }) => name === agent).flatMap((one) => one.skills ?? [])];
      const snapshot = wanted.length === 0 ? found.snapshot : { ...found.snapshot, skills: entriesOf(skills, wanted) };
      return Promise.resolve(agent === undefined ? snapshot : { ...snapshot, agents: rowsOf(tenantId, agents, agent) });
    },
    read: ({ tenantId, name, path }) => {
      const skill = known.get(tenantId.toLowerCase())?.skills.find((one) => one.name === name);
      return Promise.resolve(skill && skillRow(skill, path));
    },
  };
}

function entriesOf(skills: readonly MemorySkill[], wanted: readonly string[]): readonly SkillEntry[] {
  const named = skills.filter(({ name }) => wanted.includes(name) || wanted.includes('*'));
  return named.map(({ name, description }) => ({ name, description }));
}

function skillRow({ name, description, instructions, files = {} }: MemorySkill, path?: string): SkillRow {
  const content = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${instructions}`;
  const file = path !== undefined && Object.hasOwn(files, path) ? files[path] : undefined;
  return { name, content, paths: Object.keys(files), file };
}

function rowsOf(tenantId: string, agents: readonly AgentDefinition[], name: string): TenantSnapshot['agents'] {
  const found = agents.filter((agent) => agent.name === name);
  const rows = found.map((agent) => ({
    ...{ tenantId, isActive: true, version: 1 },
    definition: agent as unknown as JsonObject,
  }));
  const asked = found.flatMap(({ subAgents = [] }) => subAgents);
  const below = agents.filter((agent) => asked.includes(agent.name));
  return {
    ...{ isAny: agents.length > 0, rows },
    below: below.map((agent) => ({ name: agent.name, description: agent.description, isActive: true })),
  };
}

function toSnapshot({
  id,
  isActive = true,
  settings = {},
  tools = [],
  ...rest
}: Omit<MemoryTenant, 'agents' | 'skills'>): TenantSnapshot {
  return {
    tenant: { id, isActive, settings },
    tiers: [],
    prices: [],
    tools: tools.map(toolRow),
    ...rest,
  };
}

/** A row with everything that is not named left empty. */
function toolRow(row: Partial<ToolRow> & Pick<ToolRow, 'code'>): ToolRow {
  return {
    description: `Does ${row.code}`,
    parametersSchema: null,
    endpoint: null,
    authHeader: null,
    timeoutMs: null,
    transport: 'hook',
    mcpTool: null,
    customConfig: {},
    transportConfig: {},
    ...row,
  };
}

import { type AgentEntry, listAgentRows } from '../../storage/sql/admin/manage-agents';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { nameField, readAgentOf, SHARED } from './agent-rows';
import { namesWithRules } from './check-sub-agents';

export const getAgent = operation({
  name: 'agent.get',
  title: 'Get',
  action: 'Get an agent',
  description: 'All that an agent is',
  input: scoped(SHARED, { name: nameField }),
  run: ({ postgres: { query } }, owner) => readAgentOf(query, owner),
});

export const listAgents = operation({
  name: 'agent.list',
  title: 'List',
  action: 'List agents',
  description: 'The agents that tasks of a tenant may name, each with where it comes from',
  lists: 'agents',
  input: scoped(SHARED, {}),
  run: async ({ postgres: { query }, codeAgents }, { tenantId }) => {
    const rows = await query<AgentEntry>(listAgentRows({ tenantId }));
    const code = codeAgents.map(({ name, description, tier, model }) => ({
      ...{ ...NO_ROW, name, description: description ?? null, tier: tier ?? null, model: model ?? null },
      source: 'code' as const,
    }));
    if (tenantId !== undefined) await checkTenant(query, tenantId);
    const ruled = await namesWithRules(query, tenantId);
    const rules = ruled.map((name) => ({ ...NO_ROW, name, source: 'rules' as const }));
    const known = new Set<string>();
    // What stands before hides what has its name, but a row of all tenants is there beside the tenant's own.
    const agents = [...rows, ...code, ...rules].filter(({ name, source }) => {
      const isHidden = source !== 'virtual' && known.has(name);
      known.add(name);
      return !isHidden;
    });
    return { ...shownScope(tenantId), agents };
  },
});

const NO_ROW = { scope: null, description: null, tier: null, model: null, version: null, is_active: true };

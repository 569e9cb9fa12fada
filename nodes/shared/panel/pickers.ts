import type { ILoadOptionsFunctions, INodeListSearchResult, INodePropertyOptions } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime/host';
import { readDatabase } from '../database';
import { toListError, withAdmin } from '../with-admin';

/** Active tenants by name, for the Tenant list. */
export async function searchTenants(this: ILoadOptionsFunctions, filter?: string): Promise<INodeListSearchResult> {
  const { tenants } = await withAdmin(this, ({ admin }) => admin.tenant.list({ filter, active: true }));
  return { results: tenants.map(({ id, name }) => ({ name, value: id })) };
}

/** The agents that tasks of the chosen tenant may name. An expression cannot be resolved here, so it gives an empty list. */
export async function searchAgents(this: ILoadOptionsFunctions, filter = ''): Promise<INodeListSearchResult> {
  const tenantId = chosenTenant(this);
  if (tenantId === undefined) return { results: [] };
  const { agents } = await withAdmin(this, ({ admin }) => admin.agent.list({ tenantId }));
  const names = agents.filter(({ is_active: isActive }) => isActive).map(({ name }) => name);
  const found = [...new Set(names)].filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
  return { results: found.map((name) => ({ name, value: name })) };
}

/** The chosen tenant's tools. An expression cannot be resolved here, so it gives an empty list. */
export async function getTenantTools(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tenantId = chosenTenant(this);
  if (tenantId === undefined) return [];
  const library: typeof RuntimeLibrary = await import('../../../runtime/host');
  const database = readDatabase(library, await this.getCredentials('postgres'));
  const tools = await library.listTenantTools(database, tenantId).catch((error: unknown) => {
    throw toListError(this, error);
  });
  return tools.map(({ id, name, description }) => ({ name, value: id, description: description ?? '' }));
}

/** The skills of the chosen tenant and of all tenants; without a tenant those of all tenants. */
export async function getSkills(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tenantId = chosenTenant(this);
  const { skills } = await withAdmin(this, ({ admin }) =>
    admin.skill.list(tenantId === undefined ? { shared: true } : { tenantId }),
  );
  return [{ name: 'All of the Tenant', value: '*' }, ...optionsOf(skills)];
}

/** The agents of the chosen tenant and of all tenants; without a tenant those of all tenants. */
export async function getAgents(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tenantId = chosenTenant(this);
  const { agents } = await withAdmin(this, ({ admin }) =>
    admin.agent.list(tenantId === undefined ? { shared: true } : { tenantId }),
  );
  return optionsOf(agents);
}

interface NamedRow {
  readonly name: string;
  readonly description: string | null;
  readonly is_active: boolean;
}

/** Active rows by name. The tenant's own one comes first, and hides that of all tenants. */
function optionsOf(rows: readonly NamedRow[]): INodePropertyOptions[] {
  const first = rows.filter(({ name }, index) => rows.findIndex((other) => other.name === name) === index);
  const active = first.filter(({ is_active: isActive }) => isActive);
  return active.map(({ name, description }) => ({ name, value: name, description: description ?? '' }));
}

/** The id of the tenant that is chosen in the panel; undefined for none, and for an expression. */
export function chosenTenant(context: ILoadOptionsFunctions): string | undefined {
  const tenant = context.getCurrentNodeParameter('tenantId') as { readonly value?: unknown } | string | undefined;
  const value = typeof tenant === 'object' ? tenant.value : tenant;
  return typeof value === 'string' && /^[0-9a-f-]{36}$/i.test(value) ? value : undefined;
}

import type { IDataObject, ILoadOptionsFunctions, INodePropertyOptions, ResourceMapperFields } from 'n8n-workflow';

import { chosenTenant } from '../shared/panel/pickers';
import { withAdmin } from '../shared/with-admin';

/** The tools of the catalogue. */
export function getTools(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  return withAdmin(this, async ({ admin }) => {
    const { tools } = (await admin.tool.list({ limit: 1000 })) as { readonly tools: readonly Catalogued[] };
    return tools.map(({ code, name, description }) => ({ name, value: code, description: description ?? undefined }));
  });
}

interface Catalogued {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
}

export function getTiers(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  return withAdmin(this, async ({ admin }) => {
    const { tiers } = await admin.tier.list();
    return tiers.map(({ code, name, model_id: model }) => ({
      name: `${name ?? code}: ${model ?? 'no model'}`,
      value: code,
    }));
  });
}

/** The MCP servers of the chosen tenant. */
export function getServers(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tenantId = chosenTenant(this);
  if (tenantId === undefined) return Promise.resolve([]);
  return withAdmin(this, async ({ admin }) => {
    const { servers } = await admin.mcpServer.list({ tenantId });
    return servers.map(({ server, url }) => ({ name: server, value: server, description: url }));
  });
}

/** The same, and all of them at once. */
export async function getServersOrAll(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  return [{ name: 'All Servers', value: '' }, ...(await getServers.call(this))];
}

/** The arguments of the chosen tool, for the form of Execute. */
export async function getToolArguments(this: ILoadOptionsFunctions): Promise<ResourceMapperFields> {
  const tenantId = chosenTenant(this);
  const tool = this.getCurrentNodeParameter('tool');
  if (tenantId === undefined || typeof tool !== 'string' || tool === '') return { fields: [] };
  return withAdmin(this, async ({ tools }) => {
    const { tools: offered } = await tools.list({ tenantId });
    const found = offered.find((one) => one.name === tool || one.qualified_name === tool);
    return { fields: (found?.parameters ?? []).map(toField) };
  });
}

type Field = ResourceMapperFields['fields'][number];
const TYPES: Readonly<Record<string, Field['type']>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
};

function toField({ name, type, required }: { name: string; type: string; required: boolean }): Field {
  return { id: name, displayName: name, required, display: true, defaultMatch: false, type: TYPES[type] ?? 'string' };
}

/** Makes a tenant of the name that was searched for, and gives its id. */
export function createTenant(this: ILoadOptionsFunctions, payload: IDataObject | string | undefined): Promise<string> {
  const name =
    typeof payload === 'object' && typeof payload.name === 'string' && payload.name !== ''
      ? payload.name
      : 'New tenant';
  return withAdmin(this, async ({ admin }) => (await admin.tenant.create({ name })).id);
}

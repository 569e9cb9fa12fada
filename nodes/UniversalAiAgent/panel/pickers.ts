import type { ILoadOptionsFunctions, INodeListSearchResult, INodePropertyOptions } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime';
import { readDatabase } from '../../shared/database';
import { toNodeError } from '../../shared/errors';
import { tenantIdOf } from '../read/request';

/** Active tenants by name, for the Tenant list. */
export async function searchTenants(this: ILoadOptionsFunctions, filter?: string): Promise<INodeListSearchResult> {
  const library: typeof RuntimeLibrary = await import('../../../runtime');
  const database = readDatabase(library, await this.getCredentials('postgres'));
  const tenants = await library.listTenants(database, filter).catch(withHint(this));
  return { results: tenants.map(({ id, name }) => ({ name, value: id })) };
}

/** The chosen tenant's tools. An expression cannot be resolved here, so it gives an empty list. */
export async function getTenantTools(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tenantId = tenantIdOf(this.getCurrentNodeParameter('tenantId'));
  if (!/^[0-9a-f-]{36}$/i.test(tenantId)) return [];
  const library: typeof RuntimeLibrary = await import('../../../runtime');
  const database = readDatabase(library, await this.getCredentials('postgres'));
  const tools = await library.listTenantTools(database, tenantId).catch(withHint(this));
  return tools.map(({ id, name, description }) => ({ name, value: id, description }));
}

/** A list that cannot be loaded shows the message of the error and nothing else. */
function withHint(context: ILoadOptionsFunctions): (error: unknown) => never {
  return (error) => {
    const nodeError = toNodeError(context.getNode(), error);
    nodeError.message = `${nodeError.message} ${nodeError.description ?? ''}`;
    throw nodeError;
  };
}

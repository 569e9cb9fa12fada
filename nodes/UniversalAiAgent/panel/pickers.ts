import type { ILoadOptionsFunctions, INodeListSearchResult, INodePropertyOptions } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime';
import { readDatabase } from '../../shared/database';
import { toNodeError } from '../../shared/errors';
import { withAdmin } from '../../shared/with-admin';
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

/** Built-in tiers and their purpose. */
const BUILT_IN: INodePropertyOptions[] = [
  { name: 'Nano', value: 'nano', description: 'For short answers without tools' },
  { name: 'Small', value: 'small', description: 'For simple questions at the lowest price' },
  { name: 'Optima', value: 'optima', description: 'Balances price and quality' },
  { name: 'Pro', value: 'pro', description: 'Good at using tools' },
  { name: 'Expert', value: 'expert', description: 'For the best quality' },
];

/** Tiers of the database with model, price and purpose; the built-in tiers if it cannot be reached. */
export async function getTiers(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tiers = await withAdmin(this, async ({ admin }) => (await admin.tier.list()).tiers).catch(() => []);
  const known = tiers.map(
    ({ code, name, model_id: model, input_cost_per_1m: input, output_cost_per_1m: output, is_free: isFree }) => {
      const price = input === null || output === null ? 'No price' : `$${input} / $${output} per 1M`;
      const purpose = BUILT_IN.find(({ value }) => value === code)?.description;
      const description = [purpose, isFree ? 'Free' : price].filter((part) => part !== undefined).join('. ');
      return { name: `${name ?? code}: ${model ?? 'no model'}`, value: code, description };
    },
  );
  const fallback = {
    name: 'Tenant Default',
    value: '',
    description: 'The tier in the settings of the tenant, or else nano',
  };
  return [fallback, ...(known.length > 0 ? known : BUILT_IN)];
}

/** Models that have a price. Another one can be given by an expression. */
export async function getModels(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const prices = await withAdmin(this, async ({ admin }) => (await admin.price.list()).prices).catch(() => []);
  return prices.map(({ model_id: model, input_cost_per_1m: input, output_cost_per_1m: output }) => ({
    name: model,
    value: model,
    description: `$${input} / $${output} per 1M`,
  }));
}

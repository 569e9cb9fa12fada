import type { ILoadOptionsFunctions, INodePropertyOptions } from 'n8n-workflow';

import { withAdmin } from '../with-admin';

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

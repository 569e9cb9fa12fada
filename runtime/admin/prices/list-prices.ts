import { LIST_PRICES, type PriceRow } from '../../storage/sql/manage-prices';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';

export const listPrices = operation({
  name: 'price.list',
  title: 'List',
  action: 'List model prices',
  description: 'What each model costs for a million tokens',
  lists: 'prices',
  input: strictObject({}),
  run: async ({ postgres: { query } }) => ({ prices: await query<PriceRow>(LIST_PRICES) }),
});

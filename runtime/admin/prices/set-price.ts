import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { LOCK_PRICES, writePricesStatement } from '../../storage/sql/manage-prices';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { modelIdField } from '../read-input';
import { misfit, readPlaces, toRow } from './price-rows';

const usd = z.string().regex(/^\d{1,6}(\.\d{1,18})?$/, 'must be decimal text, such as 0.15');

export const setPrice = operation({
  name: 'price.set',
  title: 'Set',
  action: 'Set the price of a model',
  description: 'Give a model its price, also in place of another',
  input: strictObject({
    modelId: modelIdField,
    inputPer1M: usd,
    outputPer1M: usd,
    cachedInputPer1M: usd.optional(),
    cacheWritePer1M: usd.optional(),
    cacheWrite1hPer1M: usd.optional(),
    reasoningPer1M: usd.optional(),
    provider: z.string().max(50).optional(),
  }),
  run: ({ postgres: { transaction } }, { provider, ...price }) =>
    transaction(async (query) => {
      await query(LOCK_PRICES);
      const row = toRow(price, provider);
      const reason = misfit(row, await readPlaces(query));
      if (reason !== undefined) throw new RuntimeError('PRICE_INVALID', { model: price.modelId, reason });
      await query(writePricesStatement([row]));
      return row;
    }),
});

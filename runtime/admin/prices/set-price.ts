import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { LOCK_PRICES, writePricesStatement } from '../../storage/sql/manage-prices';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { modelIdField } from '../read-input';
import { misfit, readPlaces, toRow } from './price-rows';

const usd = (what: string): z.ZodString =>
  z
    .string()
    .regex(/^\d{1,6}(\.\d{1,18})?$/, 'must be decimal text, such as 0.15')
    .meta({ title: `${what} (USD per 1M Tokens)`, placeholder: '0.15', description: '' });
const more = (what: string): z.ZodOptional<z.ZodString> => usd(what).meta({ group: 'more' }).optional();

export const setPrice = operation({
  name: 'price.set',
  title: 'Set',
  action: 'Set the price of a model',
  description: 'Give a model its price, also in place of another',
  input: strictObject({
    modelId: modelIdField.meta({ title: 'Model', placeholder: 'openai/gpt-4o-mini' }),
    inputPer1M: usd('Input'),
    outputPer1M: usd('Output'),
    cachedInputPer1M: more('Cached Input'),
    cacheWritePer1M: more('Cache Write'),
    cacheWrite1hPer1M: more('Cache Write for 1 Hour'),
    reasoningPer1M: more('Reasoning'),
    provider: z.string().max(50).optional().meta({ group: 'more' }),
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

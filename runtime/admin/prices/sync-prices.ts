import * as z from 'zod/v4';

import { strictObject } from '../../util/known-keys';
import { checkAddress } from '../check-address';
import type { PriceAdmin } from '../contract/price';
import { operation } from '../operation';
import { modelIdField } from '../read-input';
import { applyPriceList } from './compare-prices';
import { modelsOfAddress, modelsOfText } from './price-source';

export const syncPrices = operation({
  name: 'price.sync',
  title: 'Sync',
  action: 'Sync model prices',
  description: "Add the prices of the provider's list that are missing, and tell what differs",
  needs: ['provider'],
  input: strictObject({
    dryRun: z.boolean().default(false).meta({ initial: true, description: 'Whether to only tell what would change' }),
    from: z
      .string()
      .regex(/^https?:\/\//i, 'must be an http(s) address')
      .optional()
      .meta({
        group: 'more',
        title: 'List Address',
        placeholder: 'https://models.example.com/v1/models',
        description: "Another address of a list than the provider's own",
      }),
    list: z.string().optional().meta({ group: 'more', rows: 4 }),
    overwrite: z
      .union([z.literal('all'), z.array(modelIdField)])
      .default([])
      .meta({
        group: 'more',
        title: 'Overwrite Models',
        description: 'Models whose prices may be changed. Others are only told.',
      }),
    tiers: z.record(z.string(), modelIdField).default({}).meta({
      group: 'more',
      initial: '{ "pro": "openai/gpt-4o" }',
      description: 'Tiers that get another model, as JSON',
    }),
    provider: z.string().max(50).optional().meta({ group: 'more' }),
  }).refine(({ from, list }) => from === undefined || list === undefined, 'has both from and list'),
  run: async (
    { postgres: { transaction }, listedAt },
    { from, list, tiers, ...request },
    host,
  ): ReturnType<PriceAdmin['sync']> => {
    const address = from === undefined ? listedAt : { url: from };
    const check = (url: string): Promise<void> => checkAddress(url, host);
    const { source, provider, models } =
      list === undefined ? await modelsOfAddress(address, check) : await modelsOfText(list);
    const report = await transaction((query) =>
      applyPriceList(query, { provider, ...request, models, tiers: new Map(Object.entries(tiers)) }),
    );
    return { ...(source === undefined ? {} : { source }), models: models.length, ...report };
  },
});

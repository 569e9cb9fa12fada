import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../../storage/postgres/pool';
import { LIST_PRICES, LOCK_PRICES, type PriceRow, writePricesStatement } from '../../storage/sql/manage-prices';
import { strictObject } from '../../util/known-keys';
import { type AdminHost, checkAddress } from '../check-address';
import { readInput } from '../read-input';
import { misfit, readPlaces, toRow } from './price-rows';
import { type ListAddress, modelsOfAddress, modelsOfText } from './price-source';
import { syncPrices, type SyncReport } from './sync-prices';

/** US dollars for a million tokens, as decimal text. */
export interface NewPrice {
  readonly modelId: string;
  readonly inputPer1M: string;
  readonly outputPer1M: string;
  /** Default: the input price. */
  readonly cachedInputPer1M?: string;
  /** Default: the input price. */
  readonly cacheWritePer1M?: string;
  /** Default: the price of writing into the cache. */
  readonly cacheWrite1hPer1M?: string;
  /** Default: the output price. */
  readonly reasoningPer1M?: string;
  readonly provider?: string;
}

export interface PriceSync {
  /** An address that answers as OpenRouter's `GET /models` does. Default: the configured provider's own. */
  readonly from?: string;
  /** Such an answer itself, in place of an address. */
  readonly list?: string;
  /** Models whose prices may be written over. Default: none. */
  readonly overwrite?: 'all' | readonly string[];
  /** Which tiers get another model: `{pro: 'openai/gpt-4o'}`. */
  readonly tiers?: Readonly<Record<string, string>>;
  /** Named on rows that are added. Default: the host of the address. */
  readonly provider?: string;
  readonly dryRun?: boolean;
}

/** The prices of models. Every method rejects with ADMIN_INPUT_INVALID or a DB_ code; then nothing has changed. */
export interface PriceAdmin {
  readonly list: () => Promise<{ readonly prices: readonly PriceRow[] }>;
  /** Writes one price, also over another. Rejects with PRICE_INVALID where the table cannot hold it exactly. */
  readonly set: (price: NewPrice) => Promise<PriceRow>;
  /**
   * Adds the prices that are missing, and says what else differs, all or nothing. Rejects with PRICE_LIST_UNREACHABLE,
   * PRICE_LIST_INVALID, MODEL_NOT_LISTED for a model that is named and not in the list with a price (for a tier, one of ours
   * does too), TIER_UNKNOWN for a tier without a row.
   */
  readonly sync: (
    request?: PriceSync,
    host?: AdminHost,
  ) => Promise<SyncReport & { readonly source?: string; readonly models: number }>;
}

const usd = z.string().regex(/^\d{1,6}(\.\d{1,18})?$/, 'must be decimal text, such as 0.15');
const modelId = z.string().regex(/^\S{1,100}$/, 'must be an id of at most 100 characters, without spaces');
const SHAPES = {
  set: strictObject({
    modelId,
    inputPer1M: usd,
    outputPer1M: usd,
    cachedInputPer1M: usd.optional(),
    cacheWritePer1M: usd.optional(),
    cacheWrite1hPer1M: usd.optional(),
    reasoningPer1M: usd.optional(),
    provider: z.string().max(50).optional(),
  }),
  sync: strictObject({
    from: z
      .string()
      .regex(/^https?:\/\//i, 'must be an http(s) address')
      .optional(),
    list: z.string().optional(),
    overwrite: z.union([z.literal('all'), z.array(modelId)]).default([]),
    tiers: z.record(z.string(), modelId).default({}),
    provider: z.string().max(50).optional(),
    dryRun: z.boolean().default(false),
  }),
};

export function createPriceAdmin(postgres: Postgres, ofProvider: ListAddress): PriceAdmin {
  return {
    list: async () => ({ prices: await postgres.query<PriceRow>(LIST_PRICES) }),
    set: async (input) => {
      const { provider, ...price } = readInput(SHAPES.set, input, 'price set');
      return postgres.transaction(async (query) => {
        await query(LOCK_PRICES);
        const row = toRow(price, provider);
        const reason = misfit(row, await readPlaces(query));
        if (reason !== undefined) throw new RuntimeError('PRICE_INVALID', { model: price.modelId, reason });
        await query(writePricesStatement([row]));
        return row;
      });
    },
    sync: async (input, host = {}) => {
      const { from, list, tiers, ...request } = readInput(SHAPES.sync, input, 'price sync');
      const address = from === undefined ? ofProvider : { url: from };
      const check = (url: string): Promise<void> => checkAddress(url, host);
      const { source, provider, models } =
        list === undefined ? await modelsOfAddress(address, check) : await modelsOfText(list);
      const report = await postgres.transaction((query) =>
        syncPrices(query, { provider, ...request, models, tiers: new Map(Object.entries(tiers)) }),
      );
      return { ...(source === undefined ? {} : { source }), models: models.length, ...report };
    },
  };
}

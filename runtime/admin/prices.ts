import type { ModelPrice } from '../contracts/ledger/usage';
import { RuntimeError } from '../errors/runtime-error';
import type { Postgres } from '../storage/postgres/pool';
import { LIST_PRICES, LOCK_PRICES, type PriceRow, writePricesStatement } from '../storage/sql/manage-prices';
import { misfit, readPlaces, toRow } from './price-rows';
import { syncPrices, type SyncReport, type SyncRequest } from './sync-prices';

/** The operations on prices, the same for the command line and the node alike. */
export interface PriceAdmin {
  readonly list: () => Promise<readonly PriceRow[]>;
  /** Writes one price, also over another. Rejects with PRICE_INVALID where the table cannot hold it exactly. */
  readonly set: (price: ModelPrice, provider?: string) => Promise<PriceRow>;
  /**
   * Adds the prices that are missing, and says what else differs, all or nothing. Rejects with MODEL_NOT_LISTED for a model
   * that is named and not in the list with a price (for a tier, one of ours does too), TIER_UNKNOWN for a tier without a row.
   */
  readonly sync: (request: SyncRequest) => Promise<SyncReport>;
}

export function createPriceAdmin(postgres: Postgres): PriceAdmin {
  return {
    list: () => postgres.query<PriceRow>(LIST_PRICES),
    set: (price, provider) =>
      postgres.transaction(async (query) => {
        await query(LOCK_PRICES);
        const row = toRow(price, provider);
        const reason = misfit(row, await readPlaces(query));
        if (reason !== undefined) throw new RuntimeError('PRICE_INVALID', { model: price.modelId, reason });
        await query(writePricesStatement([row]));
        return row;
      }),
    sync: (request) => postgres.transaction((query) => syncPrices(query, request)),
  };
}

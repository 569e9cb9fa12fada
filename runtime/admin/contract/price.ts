import type { ModelPrice } from '../../contracts/ledger/usage';
import type { PriceRow } from '../../storage/sql/manage-prices';
import type { SyncReport } from '../prices/compare-prices';
import type { AdminHost } from './host';

/** A price with the provider that its row names. */
export interface NewPrice extends ModelPrice {
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

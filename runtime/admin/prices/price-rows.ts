import type { ModelPrice } from '../../contracts/ledger/usage';
import { COST_COLUMNS, PRICE_PLACES, type PriceRow } from '../../storage/sql/manage-prices';
import type { Query } from '../../storage/statement';

/** How many decimal places a column holds, where that is limited. */
export type Places = ReadonlyMap<string, number>;

export async function readPlaces(query: Query): Promise<Places> {
  const rows = await query<{ name: string; places: number }>(PRICE_PLACES);
  return new Map(rows.map(({ name, places }) => [name, places]));
}

/** A column of few places would round the price without a word. */
export function misfit(row: PriceRow, places: Places): string | undefined {
  const name = COST_COLUMNS.find((column) => placesOf(row[column]) > (places.get(column) ?? Infinity));
  if (name === undefined) return undefined;
  return `${row[name] ?? ''} does not fit into elo_model_pricing.${name}, which holds ${places.get(name) ?? 0} places`;
}

function placesOf(decimal: string | null): number {
  return decimal?.replace(/^\d+\.?/, '').replace(/0+$/, '').length ?? 0;
}

export function toRow(price: ModelPrice, provider: string | undefined): PriceRow {
  return {
    model_id: price.modelId,
    provider: provider ?? null,
    input_cost_per_1m: price.inputPer1M,
    output_cost_per_1m: price.outputPer1M,
    cached_input_cost_per_1m: price.cachedInputPer1M ?? null,
    cache_write_cost_per_1m: price.cacheWritePer1M ?? null,
    cache_write_1h_cost_per_1m: price.cacheWrite1hPer1M ?? null,
    reasoning_cost_per_1m: price.reasoningPer1M ?? null,
  };
}

const DECIMAL = /^\d+(\.\d+)?$/;

/** None for a row that no bill can be worked out with, such as NaN. */
export function toPrice(row: PriceRow): readonly ModelPrice[] {
  const { input_cost_per_1m: inputPer1M, output_cost_per_1m: outputPer1M } = row;
  const isReadable = COST_COLUMNS.every((name) => DECIMAL.test(row[name] ?? '0'));
  if (inputPer1M === null || outputPer1M === null || !isReadable) return [];
  return [
    {
      modelId: row.model_id,
      inputPer1M,
      outputPer1M,
      cachedInputPer1M: row.cached_input_cost_per_1m ?? undefined,
      cacheWritePer1M: row.cache_write_cost_per_1m ?? undefined,
      cacheWrite1hPer1M: row.cache_write_1h_cost_per_1m ?? undefined,
      reasoningPer1M: row.reasoning_cost_per_1m ?? undefined,
    },
  ];
}

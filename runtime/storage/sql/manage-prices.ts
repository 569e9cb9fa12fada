import { type Statement, statement } from '../statement';

/** The columns that hold a price. */
export const COST_COLUMNS = [
  'input_cost_per_1m',
  'output_cost_per_1m',
  'cached_input_cost_per_1m',
  'cache_write_cost_per_1m',
  'cache_write_1h_cost_per_1m',
  'reasoning_cost_per_1m',
] as const;

/** A row of the price table; decimal text, null where the column is. */
export interface PriceRow extends Readonly<Record<(typeof COST_COLUMNS)[number], string | null>> {
  readonly model_id: string;
  readonly provider: string | null;
}

/** Whoever changes prices reads them first, so nobody else may change them meanwhile. */
export const LOCK_PRICES: Statement = { text: 'LOCK TABLE elo_model_pricing IN SHARE ROW EXCLUSIVE MODE', values: [] };

export const LIST_PRICES =
  statement(`SELECT model_id, provider, ${COST_COLUMNS.map((name) => `${name}::text`).join(', ')}
    FROM elo_model_pricing ORDER BY model_id`);

/** How many places after the point each column holds; no row for one that holds as many as there are. */
export const PRICE_PLACES: Statement = {
  text: `SELECT attname AS name, (atttypmod - 4) & 2047 AS places FROM pg_attribute
    WHERE attrelid = to_regclass('elo_model_pricing') AND attname = ANY ($1::text[])
      AND atttypid = 'numeric'::regtype AND atttypmod > 0`,
  values: [COST_COLUMNS],
};

/** Writes prices, over those of the same models. Without ON CONFLICT: an adopted table may have no index that fits. */
export function writePricesStatement(rows: readonly PriceRow[]): Statement {
  return {
    text: `
WITH given AS (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS one (
    model_id text, provider text, ${COST_COLUMNS.map((name) => `${name} numeric`).join(', ')}
  )
), updated AS (
  UPDATE elo_model_pricing AS price SET ${COST_COLUMNS.map((name) => `${name} = given.${name}`).join(', ')}
  FROM given WHERE price.model_id = given.model_id RETURNING price.model_id
)
INSERT INTO elo_model_pricing (model_id, provider, ${COST_COLUMNS.join(', ')})
SELECT given.model_id, given.provider, ${COST_COLUMNS.map((name) => `given.${name}`).join(', ')} FROM given
WHERE NOT EXISTS (SELECT FROM updated WHERE updated.model_id = given.model_id)`,
    values: [JSON.stringify(rows)],
  };
}

export interface TierModelRow {
  readonly code: string;
  readonly name: string | null;
  readonly model_id: string;
}

export const LIST_TIERS = statement(
  'SELECT code, name, model_id FROM elo_agent_tiers WHERE model_id IS NOT NULL ORDER BY rank, code',
);

/** No row: there is no such tier. */
export function setTierModelStatement(code: string, modelId: string): Statement {
  return { text: 'UPDATE elo_agent_tiers SET model_id = $2 WHERE code = $1 RETURNING code', values: [code, modelId] };
}

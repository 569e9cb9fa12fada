import type { Query } from '../statement';

/** What works in an adopted table, but not as well as it could. */
export interface SchemaAdvice {
  readonly column: string;
  readonly problem: string;
  readonly fix: string;
}

/** Digits before the point, from which on a line of the bill is thought to fit. */
const ENOUGH_DIGITS = 6;

const COST_COLUMN = `
SELECT ((atttypmod - 4) >> 16) - ((atttypmod - 4) & 2047) AS digits FROM pg_attribute
WHERE attrelid = to_regclass('elo_t_token_usage') AND attname = 'cost_usd' AND atttypid = 'numeric'::regtype AND atttypmod > 0`;

/** Looks at types that migrations leave as they are, since the table may be somebody else's. Changes nothing. */
export async function findAdvice(query: Query): Promise<readonly SchemaAdvice[]> {
  return [...(await narrowCost(query)), ...(await twoPrices(query))];
}

const TWO_PRICES = `
SELECT model_id, count(*)::int AS prices FROM elo_model_pricing GROUP BY model_id HAVING count(*) > 1
ORDER BY model_id LIMIT 20`;

async function twoPrices(query: Query): Promise<readonly SchemaAdvice[]> {
  const text = `SELECT to_regclass('elo_model_pricing') IS NOT NULL AS has`;
  const [prices] = await query<{ has: boolean }>({ text, values: [] });
  if (prices?.has !== true) return [];
  const models = await query<{ model_id: string; prices: number }>({ text: TWO_PRICES, values: [] });
  return models.map(({ model_id: model, prices: count }) => ({
    column: 'elo_model_pricing.model_id',
    problem: `${model} has ${count} prices; one of them is billed, and nobody can say which.`,
    fix: `DELETE all but one of them, then ALTER TABLE elo_model_pricing ADD UNIQUE (model_id).`,
  }));
}

async function narrowCost(query: Query): Promise<readonly SchemaAdvice[]> {
  const [cost] = await query<{ digits: number }>({ text: COST_COLUMN, values: [] });
  if (cost === undefined || cost.digits >= ENOUGH_DIGITS) return [];
  return [
    {
      column: 'elo_t_token_usage.cost_usd',
      problem: `It holds less than $1${'0'.repeat(cost.digits)}. A dearer line shows nines there; cost_exact and the budgets have its whole cost.`,
      fix:
        'ALTER TABLE elo_t_token_usage ALTER COLUMN cost_usd TYPE NUMERIC(20, 8); ' +
        'UPDATE elo_t_token_usage SET cost_usd = round(cost_exact, 8) WHERE cost_exact > cost_usd AND cost_exact >= 1; ' +
        'Views that read the column have to be dropped before, and made again after.',
    },
  ];
}

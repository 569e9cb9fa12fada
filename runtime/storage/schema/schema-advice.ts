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

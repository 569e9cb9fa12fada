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
  return [...(await narrowCost(query)), ...(await moneyPrices(query)), ...(await twoRows(query))];
}

/** Returns advice for a bill that refuses some lines; `reason` is the server's message. */
export function adviceOfRareLines(reason: string | undefined): readonly SchemaAdvice[] {
  if (reason === undefined) return [];
  const problem = `It refuses some lines: ${reason}. Such a run is counted by the budgets, but is not on the bill.`;
  return [{ column: 'elo_t_token_usage', problem, fix: 'ALTER TABLE elo_t_token_usage so that it takes every line.' }];
}

/** Tables whose rows are known by a column that an adopted one may lack a key on. */
const KEYS = [
  { table: 'elo_model_pricing', key: 'model_id', told: 'prices; one of them is billed' },
  { table: 'elo_agent_tiers', key: 'code', told: 'rows; one of them is used' },
] as const;

async function twoRows(query: Query): Promise<readonly SchemaAdvice[]> {
  const advice: SchemaAdvice[] = [];
  for (const { table, key, told } of KEYS) {
    if (!(await hasTable(query, table))) continue;
    const text = `SELECT ${key}::text AS name, count(*)::int AS rows FROM ${table} GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 LIMIT 20`;
    for (const { name, rows } of await query<{ name: string; rows: number }>({ text, values: [] })) {
      advice.push({
        column: `${table}.${key}`,
        problem: `${name} has ${rows} ${told}, and nobody can say which.`,
        fix: `DELETE all but one of them, then ALTER TABLE ${table} ADD UNIQUE (${key}).`,
      });
    }
  }
  return advice;
}

async function hasTable(query: Query, name: string): Promise<boolean> {
  const [found] = await query<{ has: boolean }>({ text: 'SELECT to_regclass($1) IS NOT NULL AS has', values: [name] });
  return found?.has === true;
}

const MONEY = `
SELECT attname AS name FROM pg_attribute
WHERE attrelid = to_regclass('elo_model_pricing') AND atttypid = 'money'::regtype AND NOT attisdropped`;

/** A price of type money is text with a sign of currency, in cents: nobody can bill by it. */
async function moneyPrices(query: Query): Promise<readonly SchemaAdvice[]> {
  const columns = await query<{ name: string }>({ text: MONEY, values: [] });
  return columns.map(({ name }) => ({
    column: `elo_model_pricing.${name}`,
    problem:
      'It is of type money, which keeps cents with a sign of currency: its prices are not read, and runs go unpriced.',
    fix: `ALTER TABLE elo_model_pricing ALTER COLUMN ${name} TYPE NUMERIC USING ${name}::numeric.`,
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

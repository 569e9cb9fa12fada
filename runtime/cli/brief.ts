import type { JsonObject, JsonValue } from '../util/json';
import { words } from '../util/text/words';

interface Brief {
  /** Columns in their order: `tenant_id=tenant` has another title, `status|state` is the first that has a value. */
  readonly columns: readonly string[];
  /** Columns that have a sum below. */
  readonly sums?: readonly string[];
}

/** Columns of each list, by its key, that fit a terminal of 80; --wide and JSON have everything. */
const LISTS: Readonly<Record<string, Brief>> = {
  usage: {
    columns: words(`
      month day tenant_id=tenant client_id=client dialog_id=dialog user_id=user session_id=session
      agent_tier=tier model_id=model request_count=runs total_tokens=tokens total_cost_usd=cost_usd
    `),
    sums: words('request_count total_tokens total_cost_usd'),
  },
  spenders: {
    columns: words('tenant request_count=runs total_tokens=tokens total_cost_usd=cost_usd share_percent=percent'),
    sums: words('request_count total_tokens total_cost_usd'),
  },
  unknown_usage: {
    columns: words('opened_at=opened task_id=task model_requested=model requests'),
    sums: words('requests'),
  },
  calls: {
    columns: words('created_at=time tool decision code duration_ms=ms task_id=task'),
  },
  runs: {
    columns: words('created_at=time status|state=status agent_tier=tier cost_usd task_id=task'),
    sums: words('cost_usd'),
  },
  tools: {
    columns: words('code name type server transport endpoint tenants'),
  },
  tiers: {
    columns: words('code model_id=model rank is_free=free input_cost_per_1m=input_usd output_cost_per_1m=output_usd'),
  },
  tenants: {
    columns: words('name id is_active=active tools spent_this_month_usd=month_usd'),
    sums: words('spent_this_month_usd'),
  },
};

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** The rows of a list as people want them: few columns, times to the minute in UTC, sums. Other lists stay as they are. */
export function briefRows(list: string, rows: readonly JsonObject[]): readonly JsonObject[] {
  const { columns, sums = [] } = LISTS[list] ?? {};
  if (columns === undefined) return rows;
  const titled = columns
    .map((column) => column.split('='))
    .map(([names = '', title = names]) => [names, title] as const);
  const known = titled.filter(([names]) => names.split('|').some((name) => rows.some((row) => name in row)));
  const pick = (cell: (names: string) => JsonValue): JsonObject =>
    Object.fromEntries(known.map(([names, title]) => [title, cell(names)]));
  const brief = rows.map((row) => pick((names) => shorten(valueOf(row, names))));
  if (rows.length < 2 || sums.length === 0) return brief;
  const label = known.find(([names]) => !sums.includes(names))?.[0];
  return [...brief, pick((names) => (names === label ? 'sum' : sums.includes(names) ? sumOf(rows, names) : null))];
}

function valueOf(row: JsonObject, names: string): JsonValue {
  return (
    names
      .split('|')
      .map((name) => row[name] ?? null)
      .find((value) => value !== null) ?? null
  );
}

function shorten(value: JsonValue): JsonValue {
  return typeof value === 'string' && TIME.test(value) ? value.slice(0, 16).replace('T', ' ') : value;
}

/** Exact; what is missing, such as the cost of a run that has not ended, counts as 0. Null for what is not a number. */
function sumOf(rows: readonly JsonObject[], name: string): JsonValue {
  const values = rows.map((row) => row[name] ?? 0).map((value) => (typeof value === 'object' ? '' : String(value)));
  if (!values.every((value) => /^-?\d+(\.\d+)?$/.test(value))) return null;
  const decimals = Math.max(...values.map((value) => value.split('.')[1]?.length ?? 0));
  const scaled = values.map((value) => {
    const [whole = '', part = ''] = value.split('.');
    return BigInt(`${whole}${part.padEnd(decimals, '0')}`);
  });
  return withPoint(
    scaled.reduce((sum, one) => sum + one, 0n),
    decimals,
  );
}

/** `withPoint(-5n, 2)` is -0.05. */
function withPoint(scaled: bigint, decimals: number): string {
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(decimals + 1, '0');
  const end = digits.length - decimals;
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, end)}${decimals === 0 ? '' : `.${digits.slice(end)}`}`;
}

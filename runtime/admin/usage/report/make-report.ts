import {
  type AgentUse,
  agentUse,
  type ModelHealth,
  modelHealth,
  type ToolUse,
  toolUse,
  uncertainCost,
  unknownCalls,
} from '../../../storage/sql/admin/report-usage';
import { type BilledLines, topSpenders, type UsageGroup, usageStatement } from '../../../storage/sql/usage-report';
import type { Query } from '../../../storage/statement';
import type { Bar } from './bar-chart';
import { reportPage, type Sum, type UsageFigures } from './page';

const MOST_BARS = 20;

type Row = Readonly<Record<string, string | number | null>>;

/** The report as HTML. Every sum is the database's. */
export async function makeReport(query: Query, lines: BilledLines, tenant: string | undefined): Promise<string> {
  const [total, days, tenants, models, tiers, agents, health, tools, uncertain, unknown] = await Promise.all([
    query<Row>(usageStatement([], lines)),
    barsBy(query, 'day', lines),
    query<Row>(topSpenders({ ...lines, rows: MOST_BARS })),
    barsBy(query, 'model', lines),
    barsBy(query, 'tier', lines),
    query<AgentUse>(agentUse(lines)),
    query<ModelHealth>(modelHealth(lines)),
    query<ToolUse>(toolUse(lines)),
    query<UncertainCost>(uncertainCost(lines)),
    query<{ calls: number }>(unknownCalls(lines)),
  ]);
  return reportPage({
    heading: {
      title: tenant === undefined ? 'Usage of all tenants' : `Usage of ${tenant}`,
      period: periodOf(lines),
    },
    total: totalOf(total[0] ?? {}),
    days: [...days].reverse(),
    tenants: tenants.map((row) => ({
      label: textOf(row.tenant ?? row.tenant_id, ''),
      value: textOf(row.total_cost_usd, '0'),
    })),
    models: dearest(models),
    tiers: dearest(tiers),
    tables: { agents, models: health, tools },
    uncertain: uncertainOf(uncertain, unknown[0]?.calls),
  });
}

function totalOf(row: Row): UsageFigures['total'] {
  return {
    cost_usd: textOf(row.total_cost_usd, '0'),
    saved_usd: textOf(row.total_saved_usd, '0'),
    tokens: textOf(row.total_tokens, '0'),
    runs: Number(row.request_count ?? 0),
  };
}

interface UncertainCost {
  readonly basis: 'provider' | 'estimate';
  readonly calls: number;
  readonly cost_usd: string;
}

function uncertainOf(costs: readonly UncertainCost[], unknownCalls = 0): UsageFigures['uncertain'] {
  const sumOf = (wanted: UncertainCost['basis']): Sum => {
    const { calls, cost_usd } = costs.find(({ basis }) => basis === wanted) ?? { calls: 0, cost_usd: '0' };
    return { calls, costUsd: cost_usd };
  };
  return { estimated: sumOf('estimate'), ofProvider: sumOf('provider'), unknownCalls };
}

const COLUMNS: Readonly<Partial<Record<UsageGroup, string>>> = { day: 'day', model: 'model_id', tier: 'agent_tier' };

async function barsBy(query: Query, group: UsageGroup, lines: BilledLines): Promise<readonly Bar[]> {
  const rows = await query<Row>(usageStatement([group], lines));
  return rows.map((row) => ({
    label: textOf(row[COLUMNS[group] ?? ''], 'none'),
    value: textOf(row.total_cost_usd, '0'),
  }));
}

function dearest(bars: readonly Bar[]): readonly Bar[] {
  return [...bars].sort((one, other) => Number(other.value) - Number(one.value)).slice(0, MOST_BARS);
}

function textOf(value: string | number | null | undefined, otherwise: string): string {
  return value === null || value === undefined ? otherwise : String(value);
}

function periodOf({ from, until }: BilledLines): string {
  if (from === undefined && until === undefined) return 'All of the bill, days in UTC';
  return [from === undefined ? '' : `From ${from}`, until === undefined ? '' : `until before ${until}`, 'in UTC']
    .filter((part) => part !== '')
    .join(' ');
}

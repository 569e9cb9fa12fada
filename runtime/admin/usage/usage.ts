import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../../storage/postgres/pool';
import { getTenant, type TenantEntry } from '../../storage/sql/admin/manage-tenants';
import {
  billedLines,
  topSpenders,
  unknownUsage,
  USAGE_GROUPS,
  type UsageGroup,
  usageStatement,
} from '../../storage/sql/usage-report';
import type { Query } from '../../storage/statement';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { limitField, readInput, tenantIdField } from '../read-input';
import { checkTenant } from '../runs';
import { toCsv } from './to-csv';

/** Lines of the bill: of one tenant or of all, from a day on (`YYYY-MM-DD`, UTC) and before another. */
export interface UsagePeriod {
  readonly tenantId?: string;
  readonly from?: string;
  readonly until?: string;
}

/** Figures of the bill. US dollars and tokens are decimal text, summed by the database. */
export interface UsageAdmin {
  /** Summed by these groups; by month, model and tier without any. Times come newest first. */
  readonly summary: (
    query?: UsagePeriod & { readonly by?: readonly UsageGroup[] },
  ) => Promise<{ readonly usage: readonly JsonObject[] }>;
  /** The dearest tenants first. */
  readonly topSpenders: (
    query?: Omit<UsagePeriod, 'tenantId'> & { readonly limit?: number },
  ) => Promise<{ readonly spenders: readonly JsonObject[] }>;
  /** Requests whose usage nobody knows: they are on no bill. */
  readonly unknown: (query?: {
    readonly tenantId?: string;
  }) => Promise<{ readonly unknown_usage: readonly JsonObject[] }>;
  /** The lines themselves as a file. Rejects with USAGE_TOO_LONG for more than 100,000 of them. */
  readonly export: (query?: UsagePeriod & { readonly format?: 'csv' | 'json' }) => Promise<UsageFile>;
  /** Cost by day, tenant, model and tier, latency, failures and tools, as one HTML page that asks for nothing outside itself. */
  readonly report: (query?: UsagePeriod) => Promise<UsageFile>;
}

export interface UsageFile {
  readonly file_name: string;
  readonly mime_type: string;
  readonly text: string;
}

const MOST_LINES = 100_000;
const period = { tenantId: tenantIdField.optional(), from: z.iso.date().optional(), until: z.iso.date().optional() };
const SHAPES = {
  summary: strictObject({
    ...period,
    by: z
      .array(z.enum(USAGE_GROUPS as readonly [UsageGroup, ...UsageGroup[]]))
      .min(1)
      .default(['month', 'model', 'tier']),
  }),
  spenders: strictObject({ from: period.from, until: period.until, limit: limitField.default(20) }),
  unknown: strictObject({ tenantId: period.tenantId }),
  report: strictObject(period),
  export: strictObject({ ...period, format: z.enum(['csv', 'json']).default('csv') }),
};

export function createUsageAdmin({ query }: Postgres): UsageAdmin {
  return {
    summary: async (input) => {
      const { by, ...lines } = readInput(SHAPES.summary, input, 'usage');
      const usage = await query<JsonObject>(usageStatement([...new Set(by)], lines));
      // An adopted bill may have lines of tenants that are gone.
      if (usage.length === 0 && lines.tenantId !== undefined) await checkTenant(query, lines.tenantId);
      return { usage };
    },
    topSpenders: async (input) => {
      const { limit, ...lines } = readInput(SHAPES.spenders, input, 'usage top');
      return { spenders: await query<JsonObject>(topSpenders({ ...lines, rows: limit })) };
    },
    unknown: async (input) => ({
      unknown_usage: await query<JsonObject>(unknownUsage(readInput(SHAPES.unknown, input, 'usage unknown'))),
    }),
    export: async (input) => {
      const { format, ...lines } = readInput(SHAPES.export, input, 'usage export');
      if (lines.tenantId !== undefined) await checkTenant(query, lines.tenantId);
      const rows = await query<JsonObject>(billedLines({ ...lines, rows: MOST_LINES + 1 }));
      if (rows.length > MOST_LINES) throw new RuntimeError('USAGE_TOO_LONG', { most: MOST_LINES });
      const name = fileName(lines);
      return format === 'csv'
        ? { file_name: `${name}.csv`, mime_type: 'text/csv', text: toCsv(COLUMNS, rows) }
        : { file_name: `${name}.json`, mime_type: 'application/json', text: JSON.stringify(rows) };
    },
    report: async (input) => {
      const lines = readInput(SHAPES.report, input, 'usage report');
      const tenant = lines.tenantId === undefined ? undefined : await tenantName(query, lines.tenantId);
      // The charts' library comes with it.
      const { makeReport } = await import('./report/make-report');
      return {
        file_name: `${fileName(lines)}.html`,
        mime_type: 'text/html',
        text: await makeReport(query, lines, tenant),
      };
    },
  };
}

async function tenantName(query: Query, tenantId: string): Promise<string> {
  const [tenant] = await query<TenantEntry>(getTenant({ tenantId }));
  if (tenant === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
  return tenant.name;
}

function fileName({ from, until }: UsagePeriod): string {
  return ['usage', from, until].filter((part) => part !== undefined).join('-');
}

/** The columns of the file, also where it has no lines. */
const COLUMNS = [
  'created_at',
  'tenant_id',
  'task_id',
  'trace_id',
  'task_type',
  'model_id',
  'agent_tier',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'cost_usd',
  'usage_estimated',
  'client_id',
  'dialog_id',
  'user_id',
  'session_id',
];

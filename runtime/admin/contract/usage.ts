import type { UsageGroup } from '../../storage/sql/usage-report';
import type { JsonObject } from '../../util/json';

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

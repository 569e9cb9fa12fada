import type { TenantEntry } from '../../storage/sql/admin/manage-tenants';
import type { JsonObject } from '../../util/json';

export interface NewTenant {
  /** Name for people; need not be unique. */
  readonly name: string;
  /** A UUID; one is made without it. */
  readonly id?: string;
  /** The keys that docs/configuration.md lists, such as `default_tier` and `monthly_cost_limit_usd`. */
  readonly settings?: JsonObject;
  /** Codes of tools that it is given at once. */
  readonly tools?: readonly string[];
}

export interface TenantChange {
  readonly tenantId: string;
  readonly name?: string;
  /** Laid over the settings that are there, key by key; null takes a key away. */
  readonly settings?: JsonObject;
}

export interface TenantPage {
  readonly tenants: readonly TenantEntry[];
  /** Give it as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

interface OfTenant {
  readonly tenantId: string;
}

/**
 * The tenants of the installation. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, a code for settings
 * that no run could read (SETTING_INVALID, POLICY_INVALID, TIER_UNKNOWN) or whose rules match nothing (RULE_UNMATCHED), or a
 * DB_ code; then nothing has changed.
 */
export interface TenantAdmin {
  /** Sorted by name; `filter` is a part of the name, or the beginning of an ID. At most 1,000 at a time, 100 by default. */
  readonly list: (query?: {
    readonly filter?: string;
    readonly active?: boolean;
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<TenantPage>;
  /** Found by ID, or by a name that only one tenant has. Rejects with TENANT_AMBIGUOUS, too. */
  readonly get: (tenant: OfTenant | { readonly name: string }) => Promise<TenantEntry>;
  readonly create: (tenant: NewTenant) => Promise<TenantEntry>;
  /**
   * Creates the tenant, or updates the one with this ID or, without an ID, with this name: settings are laid over its own, and
   * `tools` are added to those that it has. Rejects with TENANT_AMBIGUOUS, too.
   */
  readonly set: (tenant: NewTenant) => Promise<TenantEntry>;
  readonly update: (change: TenantChange) => Promise<TenantEntry>;
  /** Stops its runs and keeps its data. Nothing is checked: a tenant is stopped whatever its settings say. */
  readonly deactivate: (tenant: OfTenant) => Promise<TenantEntry>;
  readonly activate: (tenant: OfTenant) => Promise<TenantEntry>;
  /** Takes its tools, secrets, runs and bill along. Rejects with TENANT_ACTIVE as long as it is active. */
  readonly delete: (tenant: OfTenant) => Promise<{ readonly tenant_id: string; readonly deleted: true }>;
}

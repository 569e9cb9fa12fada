/** Owner of a row: a tenant, or all tenants. */
export interface Scope {
  readonly tenantId?: string;
  readonly shared?: boolean;
}

export type ScopeShown = { readonly tenant_id: string } | { readonly scope: 'shared' };

import type { JsonObject } from '../../../util/json';
import type { Statement } from '../../statement';
import { named } from '../named';
import { type Table, tableStatement } from './write-row';

export interface TenantEntry {
  readonly id: string;
  readonly name: string;
  readonly is_active: boolean;
  readonly settings: JsonObject;
  /** How many tools it was given. */
  readonly tools: number;
  readonly mcp_servers: number;
  /** US dollars of this month, as decimal text. */
  readonly spent_this_month_usd: string;
}

const ENTRY = `
tenant.id::text AS id, tenant.name, tenant.is_active, tenant.settings,
  (SELECT count(*)::int FROM elo_t_tenant_tools AS own WHERE own.tenant_id = tenant.id AND own.is_enabled) AS tools,
  (SELECT count(*)::int FROM elo_t_tenant_mcp_servers AS own WHERE own.tenant_id = tenant.id AND own.is_enabled) AS mcp_servers,
  ((SELECT coalesce(sum(elo_agent_line_cost(line.cost_usd::numeric, line.cost_exact)), 0) FROM elo_t_token_usage AS line
    WHERE line.tenant_id = tenant.id AND line.created_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
  ) + (SELECT cost FROM elo_agent_unbilled(tenant.id)))::text AS spent_this_month_usd`;

export const getTenant = named<{ readonly tenantId: string }>(
  `SELECT ${ENTRY} FROM elo_v_agent_tenants AS tenant WHERE tenant.id = :tenantId::uuid`,
);

/** One row more than asked for says that there is another page. `afterName` and `afterId` are those of the last one seen. */
export const listTenants = named<{
  readonly filter?: string;
  readonly active?: boolean;
  readonly afterName?: string;
  readonly afterId?: string;
  readonly rows: number;
}>(`
SELECT ${ENTRY} FROM elo_v_agent_tenants AS tenant
WHERE (:filter::text IS NULL OR position(lower(:filter) in lower(tenant.name)) > 0 OR starts_with(tenant.id::text, lower(:filter)))
  AND (:active::boolean IS NULL OR tenant.is_active = :active)
  AND (:afterId::uuid IS NULL OR (tenant.name, tenant.id) > (:afterName, :afterId::uuid))
ORDER BY tenant.name, tenant.id LIMIT :rows`);

/** The tenants with this ID or, without one, with this name, blanks around it aside; at most ten. */
export const findTenants = named<{ readonly id?: string; readonly name: string }>(`
SELECT id::text AS id FROM elo_v_agent_tenants
WHERE CASE WHEN :id::uuid IS NULL THEN btrim(name) = :name ELSE id = :id::uuid END ORDER BY id LIMIT 10`);

/** Tables of tenants; the second one is the documents'. */
export const TENANTS_TABLE = tableStatement('elo_t_tenants', 'elo_tenants');

/** Lays settings over those that are there, key by key; a null takes a key away. Numbers in other keys stay as they are written. */
export function patchSettingsStatement({ name, columns }: Table, tenantId: string, patch: JsonObject): Statement {
  const laidOver = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null));
  const removed = Object.entries(patch).flatMap(([key, value]) => (value === null ? key : []));
  return {
    text: `UPDATE ${name} SET settings =
        ((coalesce(nullif(settings::text, '')::jsonb, '{}') || $2::jsonb) - $3::text[])::${columns.settings ?? 'jsonb'}
      WHERE id = $1::uuid RETURNING id::text AS id`,
    values: [tenantId, JSON.stringify(laidOver), removed],
  };
}

export function deleteTenantStatement({ name }: Table, tenantId: string): Statement {
  return { text: `DELETE FROM ${name} WHERE id = $1::uuid`, values: [tenantId] };
}

/** The settings as text, for checks that a number must not be changed for. */
export const readSettings = named<{ readonly tenantId: string }>(
  `SELECT settings::text AS settings FROM elo_v_agent_tenants WHERE id = :tenantId::uuid`,
);

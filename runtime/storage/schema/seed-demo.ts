import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../postgres/pool';

/** Fixed, so that the example workflows can name it. */
export const DEMO_TENANT_ID = '11111111-1111-4111-8111-111111111111';

export interface SeedReport {
  readonly tenant_id: string;
  readonly tools: readonly string[];
}

/** Where adopted databases differ from ours. */
interface Target {
  readonly tenants: string;
  readonly has_settings: boolean;
  readonly tiers_type: string;
}

const TARGET = `
SELECT tenants::text, tiers.atttypid::regtype::text AS tiers_type,
  EXISTS (SELECT FROM pg_attribute WHERE attrelid = tenants AND attname = 'settings') AS has_settings
FROM coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants')) AS tenants
JOIN pg_attribute AS tiers ON tiers.attrelid = 'elo_agent_tools'::regclass AND tiers.attname = 'allowed_tiers'`;

const SETTINGS = `'{"default_tier": "small", "max_iterations": 8}'`;

const tenantSql = ({ tenants, has_settings: hasSettings }: Target): string =>
  hasSettings
    ? `INSERT INTO ${tenants} (id, name, settings) VALUES ($1::uuid, 'Demo shop', ${SETTINGS})
       ON CONFLICT (id) DO UPDATE SET settings = EXCLUDED.settings`
    : `INSERT INTO ${tenants} (id, name) VALUES ($1::uuid, 'Demo shop') ON CONFLICT (id) DO NOTHING`;

const toolSql = ({ tiers_type: tiersType }: Target): string => `
WITH tool AS (
  INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint, transport, mcp_tool, allowed_tiers, sort_order)
  VALUES ($2, $3, $4, $5::jsonb, $6, $7, $8, ${tiersType.startsWith('json') ? `to_jsonb($9::text[])::${tiersType}` : '$9::text[]'}, $10)
  ON CONFLICT (code) DO UPDATE SET mcp_endpoint = EXCLUDED.mcp_endpoint, allowed_tiers = EXCLUDED.allowed_tiers
  RETURNING id
)
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, is_enabled)
SELECT $1::uuid, tool.id, true FROM tool
ON CONFLICT (tenant_id, tool_id) DO UPDATE SET is_enabled = true`;

/** A tenant with one tool behind an HTTP hook and one on an MCP server. Safe to repeat. */
export async function seedDemo(
  postgres: Postgres,
  servers: { readonly toolServer?: string; readonly mcpServer?: string },
): Promise<SeedReport> {
  const tools = demoTools(
    servers.toolServer ?? 'http://127.0.0.1:8801',
    servers.mcpServer ?? 'http://127.0.0.1:8802/mcp',
  );
  await postgres.transaction(async (query) => {
    const [target] = await query<Target>({ text: TARGET, values: [] });
    if (target === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'elo_agent_tools is too old' });
    await query({ text: tenantSql(target), values: [DEMO_TENANT_ID] });
    for (const [index, tool] of tools.entries()) {
      await query({ text: toolSql(target), values: [DEMO_TENANT_ID, ...tool, index] });
    }
  });
  return { tenant_id: DEMO_TENANT_ID, tools: tools.map(([code]) => String(code)) };
}

/** code, name, description, schema, endpoint, transport, MCP name, tiers. The free tier gets no tools, as in real installations. */
function demoTools(toolServer: string, mcpServer: string): readonly (readonly unknown[])[] {
  const paidTiers = ['small', 'optima', 'pro', 'expert'];
  const customer = { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] };
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  return [
    [
      'find_orders',
      'Find orders',
      'Find the orders of a customer',
      JSON.stringify(customer),
      `${toolServer}/hook`,
      'hook',
      null,
      paidTiers,
    ],
    [
      'delivery_estimate',
      'Delivery estimate',
      'Days until a delivery reaches a city',
      JSON.stringify(city),
      mcpServer,
      'mcp',
      'estimate',
      paidTiers,
    ],
  ];
}

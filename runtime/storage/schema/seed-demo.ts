import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../postgres/pool';

/** Fixed, so that the example workflows can name it. */
export const DEMO_TENANT_ID = '11111111-1111-4111-8111-111111111111';
const SECOND_TENANT_ID = '22222222-2222-4222-8222-222222222222';

export interface SeedReport {
  readonly tenants: readonly { readonly tenant_id: string; readonly name: string; readonly tools: readonly string[] }[];
}

interface DemoTool {
  readonly code: string;
  readonly name: string;
  readonly description: string;
  readonly transport: 'hook' | 'mcp';
  /** The only argument, a text. */
  readonly argument: string;
}

interface DemoTenant {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly DemoTool[];
}

/** Two, each with tools of its own: one behind an HTTP hook and one on an MCP server. */
const TENANTS: readonly DemoTenant[] = [
  {
    id: DEMO_TENANT_ID,
    name: 'Demo shop',
    tools: [
      {
        code: 'find_orders',
        name: 'Find orders',
        description: 'Find the orders of a customer',
        transport: 'hook',
        argument: 'customer',
      },
      {
        code: 'delivery_estimate',
        name: 'Delivery estimate',
        description: 'Days until a delivery reaches a city',
        transport: 'mcp',
        argument: 'city',
      },
    ],
  },
  {
    id: SECOND_TENANT_ID,
    name: 'Demo travel',
    tools: [
      {
        code: 'find_trips',
        name: 'Find trips',
        description: 'Find the trips that a customer has booked',
        transport: 'hook',
        argument: 'customer',
      },
      {
        code: 'weather_forecast',
        name: 'Weather forecast',
        description: 'The weather of the next days in a city',
        transport: 'mcp',
        argument: 'city',
      },
    ],
  },
];

/** The free tier gets no tools, as in real installations. */
const PAID_TIERS = ['small', 'optima', 'pro', 'expert'];

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
    ? `INSERT INTO ${tenants} (id, name, settings) VALUES ($1::uuid, $2, ${SETTINGS})
       ON CONFLICT (id) DO UPDATE SET settings = EXCLUDED.settings`
    : `INSERT INTO ${tenants} (id, name) VALUES ($1::uuid, $2) ON CONFLICT (id) DO NOTHING`;

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

/** Two tenants with tools of their own. Safe to repeat. */
export async function seedDemo(
  postgres: Postgres,
  servers: { readonly toolServer?: string; readonly mcpServer?: string },
): Promise<SeedReport> {
  const endpoints = {
    hook: `${servers.toolServer ?? 'http://127.0.0.1:8801'}/hook`,
    mcp: servers.mcpServer ?? 'http://127.0.0.1:8802/mcp',
  };
  await postgres.transaction(async (query) => {
    const [target] = await query<Target>({ text: TARGET, values: [] });
    if (target === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'elo_agent_tools is too old' });
    for (const { id, name, tools } of TENANTS) {
      await query({ text: tenantSql(target), values: [id, name] });
      for (const [index, tool] of tools.entries()) {
        await query({ text: toolSql(target), values: [id, ...toolValues(tool, endpoints[tool.transport]), index] });
      }
    }
  });
  return {
    tenants: TENANTS.map(({ id, name, tools }) => ({ tenant_id: id, name, tools: tools.map(({ code }) => code) })),
  };
}

/** code, name, description, schema, endpoint, transport, MCP name, tiers */
function toolValues({ code, name, description, transport, argument }: DemoTool, endpoint: string): readonly unknown[] {
  const schema = { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] };
  const mcpName = transport === 'mcp' ? code : null;
  return [code, name, description, JSON.stringify(schema), endpoint, transport, mcpName, PAID_TIERS];
}

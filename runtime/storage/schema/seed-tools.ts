import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../postgres/pool';
import { CATALOGUE_ROWS, type CatalogueRow } from './catalogue-rows';

export interface SeedToolsReport {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  /** They were there before. */
  readonly unchanged: readonly string[];
}

/** Adopted databases keep the tiers as TEXT[], JSON or a comma list. */
const TIERS_TYPE = `
SELECT atttypid::regtype::text AS type FROM pg_attribute
WHERE attrelid = to_regclass('elo_agent_tools') AND attname = 'allowed_tiers' AND NOT attisdropped`;

function tiersSql(type: string): string {
  if (type.startsWith('json')) return `to_jsonb($4::text[])::${type}`;
  return type.endsWith('[]') ? '$4::text[]' : `array_to_string($4::text[], ',')`;
}

const UPDATE = `
ON CONFLICT (code) DO UPDATE SET description = EXCLUDED.description, parameters_schema = EXCLUDED.parameters_schema,
  mcp_endpoint = EXCLUDED.mcp_endpoint, transport = EXCLUDED.transport, transport_config = EXCLUDED.transport_config,
  allowed_tiers = EXCLUDED.allowed_tiers`;

const rowSql = (tiersType: string, update: boolean): string => `
INSERT INTO elo_agent_tools
  (code, name, transport, allowed_tiers, description, parameters_schema, mcp_endpoint, transport_config, sort_order)
VALUES ($1, $2, $3, ${tiersSql(tiersType)}, $5, $6::jsonb, $7, $8::jsonb, $9)
${update ? UPDATE : 'ON CONFLICT (code) DO NOTHING'}
RETURNING xmax = 0 AS is_new`;

/**
 * Adds the rows of the tools that come with this package. Rows that are there stay as they are, unless `update` asks for
 * how they come. No tenant is given any of them.
 */
export async function seedTools(
  postgres: Postgres,
  { update }: { readonly update: boolean },
): Promise<SeedToolsReport> {
  const states = new Map<string, keyof SeedToolsReport>();
  await postgres.transaction(async (query) => {
    const [tiers] = await query<{ type: string }>({ text: TIERS_TYPE, values: [] });
    if (tiers === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'elo_agent_tools is too old' });
    const text = rowSql(tiers.type, update);
    for (const [index, row] of CATALOGUE_ROWS.entries()) {
      const [written] = await query<{ is_new: boolean }>({ text, values: [...columns(row), index] });
      states.set(row.code, written === undefined ? 'unchanged' : written.is_new ? 'added' : 'updated');
    }
  });
  const inState = (state: keyof SeedToolsReport): readonly string[] =>
    [...states].filter(([, found]) => found === state).map(([code]) => code);
  return { added: inState('added'), updated: inState('updated'), unchanged: inState('unchanged') };
}

function columns({ code, name, transport, tiers, description, schema, endpoint, config }: CatalogueRow): unknown[] {
  const json = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value));
  return [code, name, transport, tiers, description ?? null, json(schema), endpoint ?? null, json(config)];
}

import { checkAgent } from '../../agents/find-agent';
import { errorText } from '../../errors/to-runtime-error';
import { type McpServerDefaults, readMcpServer } from '../../mcp/read-server';
import { allTenantLevels, readPermission, readToolRules } from '../../permissions/read-tool-rules';
import {
  agentsStatement,
  tenantServersStatement,
  tenantSettingsStatement,
  tenantToolsStatement,
  tierRulesStatement,
} from '../../storage/sql/list-rules';
import type { Query } from '../../storage/statement';
import { parseSettings } from '../../tenants/parse-settings';
import { parseAgentRows, parseServers, parseTools } from '../../tenants/parse-snapshot';
import { ownRules } from '../../tools/build-tools';
import { checkToolRow } from '../../tools/check-row';
import { tryParseJson } from '../../util/json';

/** A row whose rules or settings are refused, so that its tool, MCP server, tenant or tier does not work. */
interface RefusedRow {
  readonly tenant?: string;
  readonly tool?: string;
  /** An MCP server. */
  readonly server?: string;
  readonly tier?: string;
  readonly agent?: string;
  /** What cannot be read and where, with the name that was most likely meant. */
  readonly problem: string;
}

export interface RefusedRows {
  /** The first of them. */
  readonly rows: readonly RefusedRow[];
  readonly count: number;
}

const MAX_SHOWN = 100;

/** Reads the rules and settings of every active row as a run would: one statement for each table. Changes nothing. */
export async function findRefusedRows(query: Query, servers: McpServerDefaults): Promise<RefusedRows> {
  const found = await Promise.all([
    ...[ofTiers(query), ofTenants(query), ofTools(query)],
    ...[ofServers(query, servers), ofAgents(query)],
  ]);
  const rows = found.flat();
  return { rows: rows.slice(0, MAX_SHOWN), count: rows.length };
}

async function ofTiers(query: Query): Promise<readonly RefusedRow[]> {
  const rows = await query<{ code: string; rules: string }>(tierRulesStatement);
  return rows.flatMap(({ code, rules }) => {
    const parsed = tryParseJson(rules);
    const problem = problemOf(() => readToolRules(parsed.ok ? parsed.value : rules, 'elo_agent_tiers.tool_config'));
    return problem === undefined ? [] : [{ tier: code, problem }];
  });
}

async function ofTenants(query: Query): Promise<readonly RefusedRow[]> {
  const rows = await query<{ settings: string; tenants: readonly string[] }>(tenantSettingsStatement);
  return rows.flatMap(({ settings, tenants }) => {
    const problem = problemOf(() => allTenantLevels(parseSettings(settings).toolConfig));
    return problem === undefined ? [] : tenants.map((tenant) => ({ tenant, problem }));
  });
}

async function ofTools(query: Query): Promise<readonly RefusedRow[]> {
  const rows = await query<{ tools: string; tenants: readonly string[] }>(tenantToolsStatement);
  return rows.flatMap(({ tools, tenants }) =>
    parseTools(tools).flatMap((row) => {
      const problem = problemOf(() => {
        if (row.secretFailure !== undefined) throw new Error(row.secretFailure);
        checkToolRow(row);
        readPermission(ownRules(row.customConfig) ?? {}, 'custom_config.permissions');
      });
      return problem === undefined ? [] : tenants.map((tenant) => ({ tenant, tool: row.code, problem }));
    }),
  );
}

async function ofServers(query: Query, defaults: McpServerDefaults): Promise<readonly RefusedRow[]> {
  const rows = await query<{ servers: string; tenants: readonly string[] }>(tenantServersStatement);
  return rows.flatMap(({ servers, tenants }) =>
    parseServers(servers).flatMap((row) => {
      const problem = problemOf(() => readMcpServer(row, defaults));
      return problem === undefined ? [] : tenants.map((tenant) => ({ tenant, server: row.name, problem }));
    }),
  );
}

async function ofAgents(query: Query): Promise<readonly RefusedRow[]> {
  const [row] = await query<{ agents: string }>(agentsStatement);
  return parseAgentRows(row?.agents ?? '[]').flatMap(({ tenantId: tenant, definition }) => {
    const agent = definition.name as string;
    const problem = problemOf(() => {
      const { tools, toolPermissions } = checkAgent(definition, agent);
      readToolRules({ enabled_tools: tools, tool_permissions: toolPermissions }, `agent "${agent}"`);
    });
    return problem === undefined ? [] : [{ ...(tenant === undefined ? {} : { tenant }), agent, problem }];
  });
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

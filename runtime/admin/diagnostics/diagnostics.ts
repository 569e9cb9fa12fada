import * as z from 'zod/v4';

import { describeError } from '../../errors/runtime-error';
import type { McpServerDefaults } from '../../mcp/read-server';
import type { Postgres } from '../../storage/postgres/pool';
import { type DatabaseStatus, databaseStatus, migrate, type SchemaUpgrade } from '../../storage/schema/migrate';
import { seedDemo, type SeedReport } from '../../storage/schema/seed-demo';
import { strictObject } from '../../util/known-keys';
import { type AdminHost, checkAddress } from '../check-address';
import { readInput, tenantIdField } from '../read-input';
import type { ComponentHealth } from './component';
import { type Installation, lookAtAll } from './look-at-all';
import { findRefusedRows, type RefusedRows } from './refused-rows';

export interface HealthSummary {
  /** `CRITICAL`: nothing runs. `DEGRADED`: something does not. */
  readonly overall_status: 'HEALTHY' | 'DEGRADED' | 'CRITICAL';
  readonly components: readonly ComponentHealth[];
  readonly failed_components: readonly { readonly component: string; readonly code: string }[];
  /** The hints of what is wrong, each once. */
  readonly recommended_actions: readonly string[];
}

/** The installation as a whole. */
export interface DiagnosticsAdmin {
  /** Looks at every part, and never rejects but with ADMIN_INPUT_INVALID. With a tenant, only at that one's MCP servers. */
  readonly summary: (query?: { readonly tenantId?: string }, host?: AdminHost) => Promise<HealthSummary>;
  /** What is applied and what is missing, and the rows that no run could read. */
  readonly schema: () => Promise<DatabaseStatus & { readonly refusedRows?: RefusedRows }>;
  /** Creates or adopts the tables; safe to repeat. Rejects with DB_SCHEMA_DAMAGED or another DB_ code. */
  readonly prepareDatabase: () => Promise<SchemaUpgrade>;
  /** A tenant to try things with; safe to repeat. Its tools need the demo's servers where they are named. */
  readonly addDemoTenant: (
    servers?: {
      readonly toolServer?: string;
      readonly mcpServer?: string;
    },
    host?: AdminHost,
  ) => Promise<SeedReport>;
}

const SHAPES = {
  summary: strictObject({ tenantId: tenantIdField.optional() }),
  demo: strictObject({
    toolServer: z.url({ protocol: /^https?$/ }).optional(),
    mcpServer: z.url({ protocol: /^https?$/ }).optional(),
  }),
};

/** Nothing runs without these. */
const VITAL = ['database', 'schema', 'model provider'];

export function createDiagnosticsAdmin(
  installation: Installation,
  /** A database without a limit of time: an index on a large table takes minutes. */
  withPatience: <T>(work: (postgres: Postgres) => Promise<T>) => Promise<T>,
): DiagnosticsAdmin {
  const { postgres, serverDefaults } = installation;
  return {
    summary: async (input, host = {}) => {
      const { tenantId } = readInput(SHAPES.summary, input, 'diagnostics');
      return summarize(await lookAtAll(installation, tenantId, host));
    },
    schema: () => readSchema(postgres, serverDefaults),
    prepareDatabase: () => withPatience(migrate),
    addDemoTenant: async (input, host = {}) => {
      const servers = readInput(SHAPES.demo, input, 'db seed-demo');
      for (const address of [servers.toolServer, servers.mcpServer]) await checkAddress(address, host);
      return seedDemo(postgres, servers);
    },
  };
}

async function readSchema(
  postgres: Postgres,
  defaults: McpServerDefaults,
): Promise<DatabaseStatus & { readonly refusedRows?: RefusedRows }> {
  const status = await databaseStatus(postgres);
  // Rows can be read as soon as every table is there.
  return status.isReady ? { ...status, refusedRows: await findRefusedRows(postgres.query, defaults) } : status;
}

function summarize(components: readonly ComponentHealth[]): HealthSummary {
  const failed = components.filter(({ state }) => state === 'down' || state === 'degraded');
  const isCritical = failed.some(({ component, state }) => state === 'down' && VITAL.includes(component));
  return {
    overall_status: isCritical ? 'CRITICAL' : failed.length > 0 ? 'DEGRADED' : 'HEALTHY',
    components,
    failed_components: failed.map(({ component, problems }) => ({
      component,
      code: problems[0]?.code ?? describeError('INTERNAL_ERROR').code,
    })),
    recommended_actions: [...new Set(failed.flatMap(({ problems }) => problems.map(({ hint }) => hint)))],
  };
}

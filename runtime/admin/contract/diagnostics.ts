import type { DatabaseStatus, SchemaUpgrade } from '../../storage/schema/migrate';
import type { SeedReport } from '../../storage/schema/seed-demo';
import type { ComponentHealth } from '../diagnostics/component';
import type { RefusedRows } from '../diagnostics/refused-rows';
import type { AdminHost } from './host';

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
  /** Tells what is applied and what is missing, and the rows that no run could read. */
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

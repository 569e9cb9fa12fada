import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { migrate } from '../../../runtime/storage/schema/migrate';

export interface TestDatabase {
  readonly url: string;
  readonly query: <Row = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
  readonly close: () => Promise<void>;
}

/** A new, empty database on the test run's Postgres. */
export function createDatabase(): Promise<TestDatabase> {
  return createFrom('template1');
}

/** The same, with our schema in it: a copy of one that is migrated once for the whole run. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  await ensureMigrated();
  const database = await createFrom(MIGRATED);
  // An installation is told from others by when its first migration was applied.
  await database.query(`UPDATE elo_agent_migrations SET applied_at = applied_at + random() * interval '1 hour'`);
  return database;
}

const MIGRATED = 'migrated';

async function ensureMigrated(): Promise<void> {
  const { adminUrl, ownerUrl } = serverOfTheRun();
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    // Test files run at the same time, in processes of their own. The lock goes with the connection.
    await admin.query(`SELECT pg_advisory_lock(hashtext('${MIGRATED}'))`);
    const { rowCount } = await admin.query('SELECT FROM pg_database WHERE datname = $1 AND datistemplate', [MIGRATED]);
    if (rowCount !== 0) return;
    const url = new URL(ownerUrl);
    await admin.query(`DROP DATABASE IF EXISTS ${MIGRATED}`);
    await admin.query(`CREATE DATABASE ${MIGRATED} OWNER ${url.username}`);
    url.pathname = `/${MIGRATED}`;
    const postgres = createPostgres({ url: url.href, maxConnections: 1 });
    await migrate(postgres);
    await postgres.close();
    await admin.query(`ALTER DATABASE ${MIGRATED} IS_TEMPLATE true`);
  } finally {
    await admin.end();
  }
}

function serverOfTheRun(): { readonly adminUrl: string; readonly ownerUrl: string } {
  const { TEST_POSTGRES_ADMIN_URL: adminUrl, TEST_POSTGRES_URL: ownerUrl } = process.env;
  if (adminUrl === undefined || ownerUrl === undefined) throw new Error('the Postgres of the test run is missing');
  return { adminUrl, ownerUrl };
}

async function createFrom(template: string): Promise<TestDatabase> {
  const { adminUrl, ownerUrl } = serverOfTheRun();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(ownerUrl);
  url.pathname = `/${name}`;
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name} OWNER ${url.username} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const client = new Client({ connectionString: url.href });
  await client.connect();
  // A client takes one query after the other.
  let last: Promise<unknown> = Promise.resolve();
  return {
    url: url.href,
    query: async <Row>(text: string, values: readonly unknown[] = []) => {
      const answer = last.then(() => client.query(text, [...values]));
      last = answer.catch(() => undefined);
      const { rows } = await answer;
      return rows as Row[];
    },
    close: async () => {
      await client.end();
      // Deleted with the server: ext4 creates files slowly right after many were deleted.
      await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      await admin.end();
    },
  };
}

export async function addTenant(
  database: TestDatabase,
  tenant: { readonly name?: string; readonly settings?: object; readonly isActive?: boolean } = {},
): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    'INSERT INTO elo_t_tenants (name, settings, is_active) VALUES ($1, $2, $3) RETURNING id',
    [tenant.name ?? 'Test tenant', JSON.stringify(tenant.settings ?? {}), tenant.isActive ?? true],
  );
  return (row as { id: string }).id;
}

export interface TestTool {
  readonly code: string;
  readonly endpoint?: string | null;
  readonly description?: string;
  readonly schema?: unknown;
  readonly authHeader?: string | null;
  readonly timeoutMs?: number | null;
  readonly isActive?: boolean;
  readonly sortOrder?: number;
  readonly transport?: string;
  readonly mcpTool?: string | null;
  readonly allowedTiers?: readonly string[] | null;
}

const TOOL_DEFAULTS = {
  endpoint: null,
  authHeader: null,
  timeoutMs: null,
  isActive: true,
  sortOrder: 0,
  transport: 'hook',
  mcpTool: null,
  allowedTiers: null,
} as const satisfies Partial<TestTool>;

/** Adds a tool to the catalogue. */
export async function addTool(database: TestDatabase, given: TestTool): Promise<number> {
  const tool = { ...TOOL_DEFAULTS, description: `Does ${given.code}`, ...given };
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO elo_agent_tools
      (code, name, description, parameters_schema, mcp_endpoint, auth_header, timeout_ms, is_active, sort_order, transport, mcp_tool, allowed_tiers)
     VALUES ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`,
    [
      tool.code,
      tool.description,
      tool.schema === undefined ? null : JSON.stringify(tool.schema),
      tool.endpoint,
      tool.authHeader,
      tool.timeoutMs,
      tool.isActive,
      tool.sortOrder,
      tool.transport,
      tool.mcpTool,
      tool.allowedTiers,
    ],
  );
  return (row as { id: number }).id;
}

/** Gives a tool to a tenant. */
export async function enableTool(
  database: TestDatabase,
  link: {
    readonly tenantId: string;
    readonly toolId: number;
    readonly isEnabled?: boolean;
    readonly customConfig?: object;
  },
): Promise<void> {
  await database.query(
    'INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, is_enabled, custom_config) VALUES ($1, $2, $3, $4)',
    [
      link.tenantId,
      link.toolId,
      link.isEnabled ?? true,
      link.customConfig === undefined ? null : JSON.stringify(link.customConfig),
    ],
  );
}

/** Adds a tool to the catalogue and gives it to one tenant. */
export async function giveTool(
  database: TestDatabase,
  tenantId: string,
  { customConfig, ...tool }: TestTool & { readonly customConfig?: object },
): Promise<number> {
  const toolId = await addTool(database, tool);
  await enableTool(database, { tenantId, toolId, customConfig });
  return toolId;
}

export interface TestMcpServerRow {
  readonly code: string;
  readonly url: string;
  readonly transport?: string;
  readonly auth?: object;
  readonly includeTools?: readonly string[] | null;
  readonly excludeTools?: readonly string[];
  readonly onToolChange?: 'accept' | 'quarantine';
  readonly allowedTiers?: readonly string[] | null;
  readonly settings?: object;
  readonly isActive?: boolean;
  readonly sortOrder?: number;
}

/** Registers an MCP server. */
export async function addMcpServer(database: TestDatabase, server: TestMcpServerRow): Promise<number> {
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO elo_agent_mcp_servers
      (code, url, transport, auth, include_tools, exclude_tools, on_tool_change, allowed_tiers, settings, is_active, sort_order)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`,
    [
      server.code,
      server.url,
      server.transport ?? 'http',
      JSON.stringify(server.auth ?? { kind: 'none' }),
      server.includeTools ?? null,
      server.excludeTools ?? [],
      server.onToolChange ?? 'accept',
      server.allowedTiers ?? null,
      JSON.stringify(server.settings ?? {}),
      server.isActive ?? true,
      server.sortOrder ?? 0,
    ],
  );
  return (row as { id: number }).id;
}

/** Lets a tenant use a registered MCP server, with a credential of its own where one is given. */
export async function useMcpServer(
  database: TestDatabase,
  link: {
    readonly tenantId: string;
    readonly serverId: number;
    readonly auth?: object;
    readonly isEnabled?: boolean;
  },
): Promise<void> {
  await database.query(
    'INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id, auth, is_enabled) VALUES ($1, $2, $3, $4)',
    [link.tenantId, link.serverId, link.auth === undefined ? null : JSON.stringify(link.auth), link.isEnabled ?? true],
  );
}

import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { loadTenantsStatement } from '../../../runtime/storage/sql/load-tenants';
import type { SnapshotColumns } from '../../../runtime/tenants/parse-snapshot';
import { createTenantStore } from '../../../runtime/tenants/tenant-store';
import { describeTenants } from '../../contract/tenants';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../../support/servers/database';

let database: TestDatabase;
let postgres: Postgres;

beforeAll(async () => {
  database = await createMigratedDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
});
afterEach(() => database.query('DELETE FROM elo_agent_tools'));
afterAll(async () => {
  await postgres.close();
  await database.close();
});

describeTenants(async ({ isActive, monthlyCostLimitUsd, tools = [] }) => {
  const settings = { monthly_cost_limit_usd: monthlyCostLimitUsd };
  const tenantId = await addTenant(database, { isActive, settings });
  for (const tool of tools) await giveTool(database, tenantId, tool);
  const store = createTenantStore({
    rememberedTenants: 10,
    query: (tenantIds, asked) => postgres.query<SnapshotColumns>(loadTenantsStatement({ tenantIds, ...asked })),
  });
  return { store, tenantId };
});

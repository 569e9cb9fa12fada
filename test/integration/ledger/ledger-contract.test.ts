import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { describeLedger } from '../../contract/ledger';
import { describeSessions } from '../../contract/sessions';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';

let database: TestDatabase;
let postgres: Postgres;
let store: ReturnType<typeof createLedgerStore>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
  store = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
});
afterAll(async () => {
  await store.close();
  await postgres.close();
  await database.close();
});

describeLedger(async () => ({ ledger: store, tenantId: await addTenant(database) }));

describe('conversations', () => describeSessions(async () => ({ ledger: store, tenantId: await addTenant(database) })));

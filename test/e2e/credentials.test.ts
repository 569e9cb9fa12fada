import { addTenant, createDatabase, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  ended,
  FIELDS,
  lastExecutionId,
  type N8n,
} from './support/host';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let openRouterApi: Credential;
let tenant: string;

beforeAll(async () => {
  n8n = await connect();
  database = await createMigratedDatabase();
  models = await startModelServer();
  models.always(() => textReply('ok').body);
  openRouterApi = await addModelCredential(n8n, { apiKey: 'sk-or-x', url: models.url });
  tenant = await addTenant(database);
});
afterAll(() => Promise.all([models.close(), database.close()]));

/** Runs one item with this database and gives the error that n8n stored. */
async function failureWith(path: string, databaseUrl: string): Promise<{ message: string; description: string }> {
  const postgres = await addPostgresCredential(n8n, databaseUrl);
  const { id } = await n8n.createWorkflow(
    agentWorkflow({ path, parameters: FIELDS, credentials: { openRouterApi, postgres } }),
  );
  await n8n.activate(id);
  await n8n.callWebhook(path, { items: [{ tenant, tier: 'pro', message: 'x' }] });
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  if (data.resultData.error === undefined) throw new Error('the execution did not fail');
  return data.resultData.error;
}

const changed = (change: (url: URL) => void): string => {
  const url = new URL(database.url);
  change(url);
  return url.href;
};

it('says which credential to check when the database cannot be reached', async () => {
  const error = await failureWith(
    'db-unreachable',
    changed((url) => (url.port = '1')),
  );
  expect(error.message).toContain('cannot be reached');
  expect(error.description).toContain('DB_UNREACHABLE');
});

it('says so when the database password is wrong, without the password', async () => {
  const error = await failureWith(
    'db-password',
    changed((url) => (url.password = 'canary-wrong-password')),
  );
  expect(error.description).toContain('DB_AUTH_FAILED');
  expect(JSON.stringify(error)).not.toContain('canary-wrong-password');
});

it('says how to prepare a database without our tables', async () => {
  const empty = await createDatabase();
  const error = await failureWith('db-empty', empty.url);
  expect(error.description).toContain('diagnostics prepare-database');
  await empty.close();
});

it('spent no model call on any of these', () => {
  expect(models.received).toEqual([]);
});

import { randomUUID } from 'node:crypto';

import { createRuntime, type RuntimeError } from '../../../runtime';
import { addTenant, createDatabase, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { startServer } from '../../support/servers/http-server';
import { type ModelServer, startModelServer, textReply } from '../../support/servers/model-server';
import { aTask, failureOf } from '../../support/values/agent-fixture';

let database: TestDatabase;
let models: ModelServer;
let tenantId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tenantId = await addTenant(database);
});
afterEach(() => expect(models.received).toEqual([]));
afterAll(() => Promise.all([models.close(), database.close()]));

/** How a run fails on this database, the password having been looked for in all that it says. */
async function failureOn(url: URL): Promise<RuntimeError> {
  const runtime = createRuntime({ database: { url: url.href }, model: { apiKey: 'sk-test-key', baseUrl: models.url } });
  models.script(textReply('Should not be asked.'));
  const error = await failureOf(runtime.run(aTask(tenantId)));
  await runtime.close();
  const told = JSON.stringify([error.toSummary(), error.details, error.message]);
  expect(told).not.toContain(decodeURIComponent(url.password));
  return error;
}

function changed(change: (url: URL) => void): URL {
  const url = new URL(database.url);
  change(url);
  return url;
}

it('says that the password is wrong', async () => {
  const error = await failureOn(changed((url) => (url.password = 'wrong-and-secret')));
  expect(error).toMatchObject({ code: 'DB_AUTH_FAILED', retryable: false });
  expect(error.message).toContain('application');
});

it('says that the user is unknown', async () => {
  await expect(failureOn(changed((url) => (url.username = 'nobody')))).resolves.toMatchObject({
    code: 'DB_AUTH_FAILED',
  });
});

it('says that the database does not exist', async () => {
  const error = await failureOn(changed((url) => (url.pathname = '/not_there')));
  expect(error).toMatchObject({ code: 'DB_AUTH_FAILED', hint: expect.stringContaining('database name') as string });
});

it('says that nobody listens', async () => {
  const server = await startServer(() => undefined);
  const { port } = new URL(server.url);
  await server.close();
  const error = await failureOn(changed((url) => (url.port = port)));
  expect(error).toMatchObject({ code: 'DB_UNREACHABLE', retryable: true });
});

it('says that the host is unknown', async () => {
  await expect(failureOn(changed((url) => (url.hostname = 'no-such-host.invalid')))).resolves.toMatchObject({
    code: 'DB_UNREACHABLE',
  });
});

it('says that the server has no more connections', async () => {
  await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} CONNECTION LIMIT 0`);
  const error = await failureOn(changed(() => undefined));
  await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} CONNECTION LIMIT -1`);
  expect(error).toMatchObject({ code: 'DB_UNREACHABLE', retryable: true });
});

it('says that the tables are missing, and how to make them', async () => {
  const empty = await createDatabase();
  const error = await failureOn(new URL(empty.url));
  await empty.close();
  expect(error).toMatchObject({
    code: 'DB_SCHEMA_MISSING',
    hint: expect.stringContaining('diagnostics prepare-database') as string,
  });
});

it.each(['elo_agent_tiers', 'elo_agent_runs'])('says that the user lacks a right on %s', async (table) => {
  const { username } = new URL(database.url);
  await database.query(`REVOKE ALL ON ${table} FROM ${username}`);
  const error = await failureOn(changed(() => undefined));
  await database.query(`GRANT ALL ON ${table} TO ${username}`);
  expect(error).toMatchObject({ code: 'DB_PERMISSION_DENIED', message: expect.stringContaining(table) as string });
});

it('does not know a tenant that is not there', async () => {
  const runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
  const error = await failureOf(runtime.run(aTask(randomUUID())));
  expect(error).toMatchObject({ code: 'TENANT_NOT_FOUND' });
  await runtime.close();
});

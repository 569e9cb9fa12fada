import { createRuntime, type Runtime } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { createDatabase, type TestDatabase } from '../servers/database';
import { type ModelServer, startModelServer } from '../servers/model-server';

/** A database without tables of ours, anew for each test, and a runtime on it. */
export interface EmptyDatabase {
  readonly models: ModelServer;
  readonly database: TestDatabase;
  readonly postgres: Postgres;
  readonly runtime: Runtime;
}

/** Opens and closes it in hooks of the file that calls this; there are none before the first test. */
export function useEmptyDatabase(): () => EmptyDatabase {
  let models: ModelServer;
  let world: EmptyDatabase;
  beforeAll(async () => {
    models = await startModelServer();
  });
  afterAll(() => models.close());
  beforeEach(async () => {
    const database = await createDatabase();
    const { url } = database;
    const postgres = createPostgres({ url, maxConnections: 2 });
    const runtime = createRuntime({ database: { url }, model: { apiKey: 'sk-test-key', baseUrl: models.url } });
    world = { models, database, postgres, runtime };
  });
  afterEach(async () => {
    await Promise.all([world.runtime.close(), world.postgres.close()]);
    await world.database.close();
  });
  return () => world;
}

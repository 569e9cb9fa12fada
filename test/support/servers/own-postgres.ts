import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { migrate } from '../../../runtime/storage/schema/migrate';
import { startPostgres } from '../../../scripts/lib/postgres.mjs';
import type { TestDatabase } from './database';

export interface OwnPostgres extends TestDatabase {
  /** Ends the server in order and starts it again with its data on the same port. */
  readonly restart: () => Promise<void>;
}

/** A migrated database on a Postgres of its own, which writes to disk as one in production does and may be restarted. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const server = await startPostgres({ fsync: true });
  const pool = createPostgres({ url: server.url, maxConnections: 2, queryTimeoutMs: 0 });
  await migrate(pool);
  return {
    url: server.url,
    query: <Row>(text: string, values: readonly unknown[] = []) =>
      pool.query<Row & Record<string, unknown>>({ text, values }) as Promise<Row[]>,
    restart: server.restart,
    close: async () => {
      await pool.close();
      await server.stop();
    },
  };
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { TestDatabase } from '../servers/database';

/** The migrations 0001 to 0023, one after the other. */
const BEFORE = readFileSync(join(__dirname, 'schema-0023.sql'), 'utf8');

/** Makes the schema as it was before its migrations were written anew; `last` is the last one that is applied. */
export async function makeSchemaBefore(database: TestDatabase, last = '0023-skills'): Promise<void> {
  await database.query(BEFORE);
  await database.query(`CREATE TABLE elo_agent_migrations (
    name VARCHAR(100) PRIMARY KEY, checksum CHAR(64) NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
  )`);
  await database.query('ALTER TABLE elo_agent_migrations ENABLE ROW LEVEL SECURITY');
  await database.query(
    `INSERT INTO elo_agent_migrations (name, checksum) SELECT name, repeat('0', 64)
     FROM unnest(ARRAY['0001-tables', '0022-effects', $1]) AS name`,
    [last],
  );
}

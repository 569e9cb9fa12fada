import bridge from './migrations/0100-from-0023.sql';
import catalogue from './migrations/0101-catalogue.sql';
import agents from './migrations/0102-agents.sql';
import ledger from './migrations/0103-ledger.sql';
import rules from './migrations/0104-rules.sql';
import runAgents from './migrations/0105-run-agents.sql';
import sessions from './migrations/0106-sessions.sql';

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** All migrations of a new database in the order in which they are applied. A migration that was published is never changed. */
export const MIGRATIONS: readonly [Migration, ...Migration[]] = [
  { name: '0101-catalogue', sql: catalogue },
  { name: '0102-agents', sql: agents },
  { name: '0103-ledger', sql: ledger },
  { name: '0104-rules', sql: rules },
  { name: '0105-run-agents', sql: runAgents },
  { name: '0106-sessions', sql: sessions },
];

/** The way from the last migration of before 0101, which made the same schema in smaller steps. */
export const BRIDGE = {
  /** Has to be applied. */
  from: '0023-skills',
  migration: { name: '0100-from-0023', sql: bridge },
  /** What need not be applied then. */
  reaches: MIGRATIONS.slice(0, 4),
} as const;

/** Matches the migrations of before. */
export const OF_BEFORE = /^00\d\d-/;

import tables from './migrations/0001-tables.sql';
import ledger from './migrations/0002-ledger.sql';
import mcp from './migrations/0003-mcp.sql';

/** In the order in which they are applied. A migration that was published is never changed. */
export const MIGRATIONS: readonly { readonly name: string; readonly sql: string }[] = [
  { name: '0001-tables', sql: tables },
  { name: '0002-ledger', sql: ledger },
  { name: '0003-mcp', sql: mcp },
];

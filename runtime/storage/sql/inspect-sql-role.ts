import type { Statement } from '../statement';
import text from './inspect-sql-role.sql';

export interface UnsafeRow {
  readonly reason: string;
}

export function inspectSqlRoleStatement(): Statement {
  return { text, values: [] };
}

import type { JsonValue } from '../../util/json';

/** One query of a tenant. It was checked: `text` is one SELECT without a semicolon after it. */
export interface SqlRequest {
  readonly tenantId: string;
  readonly text: string;
  readonly maxRows: number;
  /** Rows after these bytes are left out. */
  readonly maxBytes: number;
  /** The server stops the query by then, whatever becomes of us. */
  readonly timeoutMs: number;
  /** Ends the query at once, on the server too. */
  readonly signal: AbortSignal;
}

export interface SqlRows {
  readonly columns: readonly string[];
  /** One value a column, in their order: several columns may have the same name. */
  readonly rows: readonly (readonly JsonValue[])[];
  /** Rows were left out, or long values cut. */
  readonly isCut: boolean;
}

/** Reads the rows that row-level security shows to one tenant, and can do nothing else. */
export interface SqlReader {
  /** Rejects with SQL_FAILED, SQL_ROLE_UNSAFE or a DB_ code; when the signal aborts, with its reason. */
  readonly read: (request: SqlRequest) => Promise<SqlRows>;
  readonly close: () => Promise<void>;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whose rows it waits for; undefined where it cannot be held up by those of one tenant. */
  readonly tenantId?: string;
}

/** A statement without values. */
export function statement(text: string): Statement {
  return { text, values: [] };
}

/** Runs one statement. Rejects with a DB_ code. NUMERIC and BIGINT come as text. */
export type Query = <Row>(statement: Statement) => Promise<readonly Row[]>;

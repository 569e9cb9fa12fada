import type { Statement } from '../statement';

/** A parameter by its name; not the second half of a cast, as in `:leaseMs::int`. */
const PARAMETER = /(?<![:\w]):([a-zA-Z]\w*)/g;
const COMMENT = /^\s*--.*\n/gm;

/**
 * A statement whose parameters are written as `:name`, for the driver, which numbers them. A value that is undefined is sent
 * as NULL.
 *
 * @example
 * const find = named<RunKey>('SELECT state FROM elo_agent_runs WHERE tenant_id = :tenantId::uuid AND task_id = :taskId');
 * query(find({ tenantId, taskId, runId }))
 */
type Named<Values> = (values: Values & { readonly tenantId?: string }) => Statement;

export function named<Values extends object>(sql: string): Named<Values> {
  const names: string[] = [];
  const text = sql.replace(COMMENT, '').replace(PARAMETER, (_match, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return (values: Values & { readonly tenantId?: string }) => ({
    tenantId: values.tenantId,
    text,
    values: names.map((name) => (values as Readonly<Record<string, unknown>>)[name] ?? null),
  });
}

const OF_PART = /^ *-- With [\w ]+:\n[^]*?^ *-- Always:\n/gm;

/** The statement without the parts that stand between `-- With an agent:`, or such, and `-- Always:`. */
export function withoutParts(sql: string): string {
  return sql.replace(OF_PART, '');
}

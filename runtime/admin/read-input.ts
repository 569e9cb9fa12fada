import * as z from 'zod/v4';

import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';
import { isJsonObject, type JsonObject } from '../util/json';

/** What an operation was given, checked. Throws ADMIN_INPUT_INVALID, or TENANT_ID_INVALID: callers need not be TypeScript. */
export function readInput<T extends z.ZodType>(schema: T, input: unknown, operation: string): z.output<T> {
  const { tenantId } = isJsonObject(input) ? input : {};
  if (typeof tenantId === 'string' && !isUuid(tenantId)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId });
  const { data, error } = schema.safeParse(input ?? {});
  if (error === undefined) return data;
  throw new RuntimeError('ADMIN_INPUT_INVALID', { operation, issues: describeIssues(error, 'the input') });
}

/** A tenant's id as Postgres writes it: what is sealed for a tenant is sealed for this text. */
export const tenantIdField = z.uuid().toLowerCase();
export const objectField = z.custom<JsonObject>(isJsonObject, 'must be a JSON object');
/** A name that people read. */
export const labelField = (max: number): z.ZodType<string> => z.string().trim().min(1).max(max);
export const codeField = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,50}$/, 'must be letters, digits, _ and -, at most 50 of them');
export const limitField = z.int().min(1).max(1000);

/** A page of rows: one more than asked for says that there is another. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  idOf: (row: Row) => string,
): { readonly rows: readonly Row[]; readonly next: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? idOf(last) : null };
}

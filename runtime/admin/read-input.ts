import * as z from 'zod/v4';

import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';
import { isJsonObject, type JsonObject, tryParseJson } from '../util/json';

/** What an operation was given, checked. Throws ADMIN_INPUT_INVALID, or TENANT_ID_INVALID: callers need not be TypeScript. */
export function readInput<T extends z.ZodType>(schema: T, input: unknown, operation: string): z.output<T> {
  const { tenantId } = isJsonObject(input) ? input : {};
  if (typeof tenantId === 'string' && !isUuid(tenantId)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId });
  const { data, error } = schema.safeParse(input ?? {});
  const issues = error === undefined ? NUL_ISSUE : describeIssues(error, 'the input');
  if (error === undefined && !holdsNul(input)) return data;
  throw new RuntimeError('ADMIN_INPUT_INVALID', { operation, issues });
}

const NUL_ISSUE = 'it holds a NUL character, which Postgres cannot keep';

function holdsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => key.includes('\0') || holdsNul(inner));
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

/** What `after` takes: the place of the last row of a page, which is found also when that row is gone meanwhile. */
export const cursorField = (place: z.ZodType<readonly string[]>): z.ZodType<readonly string[]> =>
  z
    .string()
    .transform(fromCursor)
    .refine((values) => place.safeParse(values).success, 'must be the "next" of the page before');

export function toCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

function fromCursor(text: string): readonly string[] {
  const parsed = tryParseJson(Buffer.from(text, 'base64url').toString('utf8'));
  const isOurs = parsed.ok && Array.isArray(parsed.value) && parsed.value.every((value) => typeof value === 'string');
  return isOurs ? (parsed.value as readonly string[]) : [];
}

/** A page of rows: one more than asked for says that there is another. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => string,
): { readonly rows: readonly Row[]; readonly next: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? placeOf(last) : null };
}

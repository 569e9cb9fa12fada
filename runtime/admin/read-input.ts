import * as z from 'zod/v4';

import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { isStorable } from '../storage/sql/storable';
import { isUuid } from '../util/clock';
import { isDeeperThan, isJsonObject, type JsonObject, MAX_JSON_DEPTH, tryParseJson } from '../util/json';

/** What an operation was given, checked. Throws ADMIN_INPUT_INVALID, or TENANT_ID_INVALID: callers need not be TypeScript. */
export function readInput<T extends z.ZodType>(schema: T, input: unknown, operation: string): z.output<T> {
  const { tenantId } = isJsonObject(input) ? input : {};
  if (typeof tenantId === 'string' && !isUuid(tenantId)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId });
  const excess = unstorable(input);
  if (excess !== undefined) throw new RuntimeError('ADMIN_INPUT_INVALID', { operation, issues: excess });
  const { data, error } = schema.safeParse(input ?? {});
  if (error === undefined) return data;
  throw new RuntimeError('ADMIN_INPUT_INVALID', { operation, issues: describeIssues(error, 'the input') });
}

/** Returns why Postgres cannot store the value; undefined if it can. */
function unstorable(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_JSON_DEPTH)) return `it is nested deeper than ${MAX_JSON_DEPTH} levels`;
  return someText(value, (text) => !isStorable(text))
    ? 'it holds a NUL or half of a surrogate pair, which Postgres cannot keep'
    : undefined;
}

function someText(value: unknown, test: (text: string) => boolean): boolean {
  if (typeof value === 'string') return test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => test(key) || someText(inner, test));
}

/** A tenant's id as Postgres writes it: what is sealed for a tenant is sealed for this text. */
export const uuidField = z.uuid().toLowerCase();
export const tenantIdField = uuidField.meta({ tenant: true });
export const serverField = z.string().min(1).meta({ picker: 'server' });
export const objectField = z.custom<JsonObject>(isJsonObject, 'must be a JSON object');
/** A name that people read. */
export const labelField = (max: number): z.ZodType<string, string> => z.string().trim().min(1).max(max);
export const codeField = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,50}$/, 'must be letters, digits, _ and -, at most 50 of them');
export const modelIdField = z.string().regex(/^\S{1,100}$/, 'must be an id of at most 100 characters, without spaces');
export const limitField = z.int().min(1).max(1000);

/** Field `after`: the sort key of the last row of a page, so that the next page does not need that row. */
export const cursorField = (place: z.ZodType<readonly string[]>): z.ZodType<readonly string[], string> =>
  z
    .string()
    .transform(fromCursor)
    .refine((values) => place.safeParse(values).success, 'must be the "next" of the page before');

export function toCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

function fromCursor(text: string): readonly string[] {
  const parsed = tryParseJson(Buffer.from(text, 'base64url').toString('utf8'));
  const isOurs =
    parsed.ok &&
    Array.isArray(parsed.value) &&
    parsed.value.every((value) => typeof value === 'string' && isStorable(value));
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

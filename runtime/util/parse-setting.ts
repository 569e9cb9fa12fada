import type * as z from 'zod/v4';

/** A column of a row by its schema. Throws an Error that names the field, never its value, which may be a secret. */
export function parseSetting<T extends z.ZodType>(schema: T, value: unknown, column: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${[column, ...(issue?.path ?? [])].join('.')} is not valid: ${issue?.message ?? ''}`);
}

import * as z from 'zod/v4';

import type { JsonObject, JsonValue } from '../../util/json';
import { strictObject } from '../../util/known-keys';

/** An argument of a tool, in the words of a form. */
export interface ToolField {
  readonly name: string;
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly description?: string;
  readonly required?: boolean;
  /** The only values that it may have. */
  readonly options?: readonly string[];
}

export const toolFields = z
  .array(
    strictObject({
      name: z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/, 'must be letters, digits, _, . and -, at most 64 of them'),
      type: z.enum(['string', 'number', 'integer', 'boolean', 'array', 'object']),
      description: z.string().optional(),
      required: z.boolean().optional(),
      options: z.array(z.string()).optional(),
    }),
  )
  .refine((fields) => new Set(fields.map(({ name }) => name)).size === fields.length, 'has a name twice');

/** The JSON Schema of these arguments; no others are taken. */
export function toSchema(fields: readonly ToolField[]): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, toProperty(field)])),
    required: fields.flatMap(({ name, required }) => (required === true ? name : [])),
    additionalProperties: false,
  };
}

function toProperty({ type, description, options }: ToolField): JsonValue {
  return {
    type,
    ...(description === undefined || description === '' ? {} : { description }),
    ...(options === undefined || options.length === 0 ? {} : { enum: options }),
  };
}

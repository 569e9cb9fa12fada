import type * as z from 'zod/v4';

import type { ToolSettings } from '../../contracts/tool-transport';

/** The row's transport_config by a schema. Throws an Error that names the field, never its value. */
export function readConfig<T extends z.ZodType>(schema: T, { config }: ToolSettings): z.output<T> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`transport_config.${issue?.path.join('.') ?? ''} is not valid: ${issue?.message ?? ''}`);
}

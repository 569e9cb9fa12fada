import type * as z from 'zod/v4';

import type { QueueTask } from '../../contracts/queue';
import { RuntimeError } from '../../errors/runtime-error';

/** Throws INPUT_INVALID that names the fields of `config`. */
export function readConfig<T extends z.ZodType>(schema: T, config: QueueTask['config']): z.output<T> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `config.${path.join('.')} is not valid (${message})`);
  throw new RuntimeError('INPUT_INVALID', { issues: issues.join('; ') });
}

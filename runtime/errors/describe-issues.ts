import type * as z from 'zod/v4';

/** What is wrong with a value, field by field; without the values, which may be secrets. `whole` names the value itself. */
export function describeIssues({ issues }: z.ZodError, whole = 'it'): string {
  return issues
    .map(({ path, code, message }) => {
      const field = path.join('.') || whole;
      const isMissing = code === 'invalid_type' && message.endsWith('received undefined');
      return `${field} ${isMissing ? 'is missing' : `is not valid (${message})`}`;
    })
    .join('; ');
}

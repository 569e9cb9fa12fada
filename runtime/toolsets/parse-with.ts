import type * as z from 'zod/v4';

import type { Tool } from '../contracts/tools/tool';
import { describeIssues } from '../errors/describe-issues';

/** The check of a tool's arguments by a schema, which they pass unchanged. */
export function parseWith(schema: z.ZodType): Tool['parseInput'] {
  return (given) => {
    const { error } = schema.safeParse(given);
    return error === undefined ? { ok: true, value: given } : { ok: false, issues: describeIssues(error, 'the input') };
  };
}

// Runs as a process of its own, which tests start as it stands: what it imports of ours is named with its extension.
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { compileValidator, TooManySteps, type Validate } from './compile-validator.ts';

/** A value, and the schema that it is to be checked by. */
export interface SchemaJob {
  /** The schema as JSON. */
  readonly schema: string;
  readonly name: string;
  readonly value: JsonValue;
}

/** `reason`: the schema is none, or the value was given up. */
export type SchemaVerdict = { readonly issues?: string } | { readonly reason: string };

/** Ends a check whose parent was killed, and so cannot end it. */
const MAX_STEPS = 20_000_000;

/** The last schema: a run that is offered a large one checks many values by it. */
let last: { readonly key: string; readonly validate: Validate } | undefined;

function check({ schema, name, value }: SchemaJob): SchemaVerdict {
  try {
    const key = `${name} ${schema}`;
    if (last?.key !== key) {
      last = { key, validate: compileValidator(JSON.parse(schema) as JsonObject, name, MAX_STEPS) };
    }
    return { issues: last.validate(value) };
  } catch (error) {
    if (error instanceof TooManySteps) return { reason: 'it takes too many steps' };
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

process.on('message', (job) => process.send?.(check(job as SchemaJob)));

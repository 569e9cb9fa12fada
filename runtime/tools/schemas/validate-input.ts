import { LRUCache } from 'lru-cache';

import type { CheckedFor, ParsedInput, Tool } from '../../contracts/tools/tool';
import { mapExactIntegers } from '../../util/exact-integer';
import type { JsonObject, JsonValue } from '../../util/json';
import { whenKnown } from '../../util/when-known';
import { askSchemaProcess } from './ask-schema-process';
import { compileValidator, TooManySteps, type Validate } from './compile-validator';
import { roundedMatch } from './pinned-integers';
import { type SchemaWeight, weighSchema } from './schema-cost';
import isSchema from './schema-of-schemas.cjs';

/** What is wrong with a value; undefined when nothing is. */
type Issues = string | undefined;
/** A promise where the check runs in another process. */
export type SchemaCheck = (value: JsonValue, checkedFor?: CheckedFor) => Issues | Promise<Issues>;

/** The most steps for one value in the event loop: some ten milliseconds. */
const MAX_STEPS = 50_000;
/** Characters of all schemas whose code is kept: it takes up to a hundred times their length. */
const KEPT_CHARS = 500_000;
/** What the smallest takes beside its length. */
const CHARS_EACH = 500;

/**
 * Looks at a JSON Schema (2020-12), without compiling it: that waits for the first value. Throws with the reason when it is
 * none, or so large that nobody could use it.
 */
export function compileInputSchema(schema: JsonObject): Tool['parseInput'] {
  const check = compileSchema(schema, 'arguments');
  return (input, checkedFor) => {
    const toParsed = (issues: Issues): ParsedInput =>
      issues === undefined ? { ok: true, value: input } : { ok: false, issues };
    return whenKnown(check(input, checkedFor), toParsed);
  };
}

/** Compiles the schema of a tool now: why no value could be checked with it. Undefined for one that can be used. */
export async function whyUnusable(schema: JsonObject): Promise<string | undefined> {
  const issues = await compileSchema(schema, 'schema')({});
  const said = cannotBeChecked('schema', '');
  return issues?.startsWith(said) === true ? issues.slice(said.length) : undefined;
}

/** The same for values of any kind, called `name` in what is wrong with them. */
export function compileSchema(schema: JsonObject, name: string): SchemaCheck {
  const { bare, weight } = judgeOnce(schema);
  let text: string | undefined;
  return (given, checkedFor) => {
    text ??= JSON.stringify(bare);
    const value = mapExactIntegers(given, Number) as JsonValue;
    const rounded = value === given ? undefined : roundedMatch(schema, given);
    if (rounded !== undefined) return `${name} ${rounded}`;
    const issues = weight.isLight ? checkHere({ bare, text, name }, value) : GIVEN_UP;
    return issues === GIVEN_UP ? checkThere({ schema: text, name, value }, checkedFor) : issues;
  };
}

interface Judged {
  readonly bare: JsonObject;
  readonly weight: SchemaWeight;
}

/** A list of tools is judged when it comes, and its tools again when they are built. */
const judged = new WeakMap<JsonObject, Judged>();

function judgeOnce(schema: JsonObject): Judged {
  const known = judged.get(schema) ?? judge(schema);
  judged.set(schema, known);
  return known;
}

function judge(schema: JsonObject): Judged {
  // Tools name all sorts of dialects in $schema; all of them are read as 2020-12.
  // With $async a validator answers with a promise, which would pass for true.
  const { $schema, $id, $async, ...bare } = mapExactIntegers(schema, Number) as JsonObject;
  const weight = weighSchema(bare);
  if (isSchema(bare)) return { bare, weight };
  const issues = isSchema.errors?.map(({ instancePath, message }) => `data${instancePath} ${message}`) ?? [];
  throw new Error(`schema is invalid: ${issues.join(', ')}`);
}

const GIVEN_UP = Symbol('given up');

// A compiled schema costs milliseconds; equal schemas share one, over runs and tenants.
const compiled = new LRUCache<string, Validate>({
  maxSize: KEPT_CHARS,
  sizeCalculation: (_validate, key) => key.length + CHARS_EACH,
});

function checkHere(
  { bare, text, name }: { readonly bare: JsonObject; readonly text: string; readonly name: string },
  value: JsonValue,
): Issues | typeof GIVEN_UP {
  const key = `${name} ${text}`;
  try {
    const validate = compiled.get(key) ?? compileValidator(bare, name, MAX_STEPS);
    compiled.set(key, validate);
    return validate(value);
  } catch (error) {
    return error instanceof TooManySteps
      ? GIVEN_UP
      : cannotBeChecked(name, error instanceof Error ? error.message : '');
  }
}

async function checkThere(...[job, checkedFor]: Parameters<typeof askSchemaProcess>): Promise<Issues> {
  const verdict = await askSchemaProcess(job, checkedFor);
  return 'reason' in verdict ? cannotBeChecked(job.name, verdict.reason) : verdict.issues;
}

function cannotBeChecked(name: string, reason: string): string {
  return `${name} cannot be checked: ${reason}`;
}

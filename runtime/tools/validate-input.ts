import Ajv2020, { type ErrorObject, type ValidateFunction } from 'ajv/dist/2020';
import { LRUCache } from 'lru-cache';

import type { ParsedInput } from '../contracts/tool';
import type { JsonObject, JsonValue } from '../util/json';
import { linearRegExp } from './linear-regexp';
import { assertBoundedSchema } from './schema-cost';

/** So many issues are told to the model; more would only cost tokens. */
const MAX_ISSUES = 5;

// A compiled schema costs a millisecond; equal schemas share one, over runs and tenants.
const compiled = new LRUCache<string, ValidateFunction>({ max: 1000 });

/** Compiles a JSON Schema (2020-12). Throws with the reason when it is not one; fetches no remote `$ref`. */
export function compileInputSchema(schema: JsonObject): (input: JsonObject) => ParsedInput {
  const issuesOf = compileSchema(schema, 'arguments');
  return (input) => {
    const issues = issuesOf(input);
    return issues === undefined ? { ok: true, value: input } : { ok: false, issues };
  };
}

/** The same for values of any kind, called `name` in what is wrong with them; undefined when nothing is. */
export function compileSchema(schema: JsonObject, name: string): (value: JsonValue) => string | undefined {
  // Tools name all sorts of dialects in $schema; all of them are read as 2020-12.
  // With $async a validator answers with a promise, which would pass for true.
  const { $schema, $id, $async, ...rest } = schema;
  const key = JSON.stringify(rest);
  const validate = compiled.get(key) ?? compile(rest);
  compiled.set(key, validate);
  return (value) => {
    try {
      return validate(value) ? undefined : describeIssues(validate.errors ?? [], name);
    } catch {
      // The stack overflowed: a schema that leads back to itself, which only some values show.
      return `${name} cannot be checked, since the schema refers to itself without end`;
    }
  };
}

function compile(schema: JsonObject): ValidateFunction {
  assertBoundedSchema(schema);
  // One Ajv for each schema, or it would keep every schema of every tenant for ever.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    logger: false,
    code: { regExp: linearRegExp },
  });
  try {
    const validate = ajv.compile(schema);
    validate({});
    return validate;
  } catch (error) {
    // The stack overflowed.
    throw error instanceof RangeError ? new Error('its schema refers to itself without end') : error;
  }
}

function describeIssues(errors: readonly ErrorObject[], name: string): string {
  return errors
    .slice(0, MAX_ISSUES)
    .map((error) => describeIssue(error, name))
    .join('; ');
}

function describeIssue(error: ErrorObject, name: string): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.') || name;
  const extra: unknown =
    error.params.allowedValues ?? error.params.additionalProperty ?? error.params.unevaluatedProperty;
  return `${path} ${error.message ?? 'is not valid'}${extra === undefined ? '' : ` (${JSON.stringify(extra)})`}`;
}

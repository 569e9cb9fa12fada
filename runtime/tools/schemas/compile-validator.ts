// Also a part of schema-process.ts, which tests start as it stands: what it imports is named with its extension.
import Ajv2020, { _, type ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';

import { canonicalJson, type JsonObject, type JsonValue } from '../../util/json.ts';
import { mapSubschemas, ownSize } from '../../util/json-schema/subschemas.ts';

/**
 * Says what is wrong with a value; undefined when nothing is. Throws TooManySteps, or what the stack throws when it
 * overflows.
 */
export type Validate = (value: JsonValue) => string | undefined;

/** A value was given up before all of it was checked. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

/** So many issues are told to the model; more would only cost tokens. */
const MAX_ISSUES = 5;
/** Our keyword that counts; no schema has it, since each is copied with its own. */
const STEPS = '$steps';
/** The same for schemas that look at the length of a text, whose characters are counted one by one. */
const CHARS = '$chars';
/** A step of a pattern takes a fraction of one of a schema, and so does a character that is compared. */
const PATTERN_STEPS_IN_ONE = 8;
const CHARS_IN_ONE = 4;
/** More of what would have been right is not shown. */
const MAX_SHOWN = 2000;

/** Counts the steps of one check. */
interface Meter {
  readonly count: (steps: number) => void;
  left: number;
}

/**
 * Compiles a JSON Schema (2020-12) into code that gives up after a bounded number of steps. References that multiply, long texts under
 * large patterns and large values all take steps. Throws when it is no schema; fetches no remote `$ref`.
 */
export function compileValidator(schema: JsonObject, name: string, maxSteps: number): Validate {
  const meter: Meter = {
    left: 0,
    count: (steps) => {
      meter.left -= steps;
      if (meter.left < 0) throw new TooManySteps();
    },
  };
  const validate = createAjv(meter).compile(metered(schema));
  return (value) => {
    meter.left = maxSteps;
    return validate(value) ? undefined : describeIssues(validate.errors ?? [], name);
  };
}

/** One for each schema, or it would keep every schema of every tenant for ever. */
function createAjv(meter: Meter): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    logger: false,
    // Schemas are checked before they come here, by one instance for all: these two take most of the time.
    meta: false,
    validateSchema: false,
    // Or a small schema becomes large code.
    inlineRefs: false,
    code: { regExp: linearRegExp(meter), optimize: false },
  });
  const countIn = (value: JsonValue, steps: number): void => {
    if (typeof value !== 'object' || value === null) meter.count(steps);
    else meter.count(steps + (Array.isArray(value) ? value.length : Object.keys(value).length));
  };
  const countText = (value: JsonValue): void => {
    if (typeof value === 'string') meter.count(value.length / CHARS_IN_ONE);
  };
  ajv.addKeyword({
    keyword: STEPS,
    code: ({ gen, data, schema }) => {
      gen.code(_`${gen.scopeValue('func', { key: countIn, ref: countIn })}(${data}, ${schema as number})`);
    },
  });
  ajv.addKeyword({
    keyword: CHARS,
    code: ({ gen, data }) => {
      gen.code(_`${gen.scopeValue('func', { key: countText, ref: countText })}(${data})`);
    },
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    compile: (isOn: boolean) => (items: readonly JsonValue[]) => !isOn || areUnique(items, meter),
  });
  return ajv;
}

/** A copy in which each schema counts what it costs. */
function metered(schema: JsonObject): JsonObject {
  const countsChars = ['minLength', 'maxLength'].some((keyword) => Object.hasOwn(schema, keyword));
  return { ...mapSubschemas(schema, metered), [STEPS]: ownSize(schema), ...(countsChars ? { [CHARS]: true } : {}) };
}

/** Takes time that grows with their length only, where Ajv compares each with each. */
function areUnique(items: readonly JsonValue[], meter: Meter): boolean {
  const seen = new Set<string>();
  return items.every((item) => {
    const text = canonicalJson(item);
    meter.count(text.length / CHARS_IN_ONE);
    return seen.size < seen.add(text).size;
  });
}

/** The part of a RegExp that a validator uses. */
interface Matcher {
  readonly test: (text: string) => boolean;
  /** Ajv tells matchers apart by this. */
  readonly toString: () => string;
}

/**
 * Patterns of schemas run in linear time: with JavaScript's own engine a pattern that a server wrote could hold up the
 * whole process. What only that engine can do, such as looking ahead, is left to the server to check.
 */
function linearRegExp(meter: Meter): ((pattern: string) => Matcher) & { readonly code: string } {
  const compile = (pattern: string): Matcher => {
    const toString = (): string => pattern;
    const compiled = compileLinear(pattern);
    if (compiled === undefined) return { test: () => true, toString };
    const steps = compiled.programSize() / PATTERN_STEPS_IN_ONE;
    const test = (text: string): boolean => {
      // Starting takes a step too: there may be many short texts, such as keys.
      meter.count(1 + text.length * steps);
      return compiled.matcher(text).find();
    };
    return { test, toString };
  };
  // Ajv also wants to know how its generated code would name it.
  return Object.assign(compile, { code: 'linearRegExp' });
}

function compileLinear(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    // Throws, and so refuses the schema, when it is no pattern for JavaScript either.
    new RegExp(pattern, 'u');
    return undefined;
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
  return `${path} ${error.message ?? 'is not valid'}${extra === undefined ? '' : ` (${JSON.stringify(extra).slice(0, MAX_SHOWN)})`}`;
}

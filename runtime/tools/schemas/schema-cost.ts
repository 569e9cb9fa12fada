import { RE2JS } from 're2js';

import { isJsonObject, type JsonObject } from '../../util/json';
import { eachSubschema, ownSize, resolvePointer } from '../../util/json-schema/subschemas';
import { patternSize } from '../../util/pattern-size';

/** More steps than this for one value and the schema is a trap; honest ones stay below a thousand. */
const MAX_COST = 100_000;
/** Each value in a schema becomes a line of code or two. The largest honest schemas have some thousands. */
const MAX_CODE = 5000;
/** What compiled patterns may come to: each step of one takes half a kilobyte and some microseconds. */
const MAX_PATTERNS = 10_000;

/** Compiled in the event loop up to here, which takes about 20 ms. */
const LITTLE_CODE = 500;
const FEW_PATTERNS = 1000;

/** What is no code: texts for people, and definitions, which count where they are used. */
const NO_CODE: readonly string[] = ['title', 'description', 'examples', 'default', '$comment', '$defs', 'definitions'];
/** Values are compared in one line. */
const NOT_COMPILED: readonly string[] = [...NO_CODE, 'enum', 'const'];
/** Keywords with which a reference may lead anywhere, which only the compiler knows. */
const NAMES: readonly string[] = [
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveRef',
  '$recursiveAnchor',
];

/** So much of a reference is shown. */
const MAX_SHOWN = 100;

export interface SchemaWeight {
  /** Whether it may be compiled in the event loop. */
  readonly isLight: boolean;
}

interface Walk {
  readonly root: JsonObject;
  /** The schemas that stand where schemas are looked for, in definitions too. */
  readonly known: ReadonlySet<JsonObject>;
  readonly hasNames: boolean;
  /** What checking a value by each costs, those that it leads to included. */
  readonly costs: Map<JsonObject, number>;
  readonly open: Set<JsonObject>;
  /** Which schemas each applies to the same value. */
  readonly inPlace: Map<JsonObject, JsonObject[]>;
  code: number;
  patterns: number;
  isPlain: boolean;
}

/**
 * What a schema will cost, from a look at it. Throws an Error for one that nobody could use: too many keywords,
 * patterns that become too large, references that multiply at each level, that lead back to themselves without going
 * into the value, or that lead nowhere.
 */
export function weighSchema(root: JsonObject): SchemaWeight {
  const known = allSubschemas(root);
  const hasNames = [...known].some((schema) => NAMES.some((name) => Object.hasOwn(schema, name)));
  const walk: Walk = {
    root,
    known,
    hasNames,
    costs: new Map(),
    open: new Set(),
    inPlace: new Map(),
    code: 0,
    patterns: 0,
    isPlain: !hasNames,
  };
  try {
    costOf(root, walk);
    assertEnds(walk.inPlace);
  } catch (error) {
    // The stack overflowed: a chain of references without an end in sight.
    throw error instanceof RangeError ? new Error('its references are nested too deeply', { cause: error }) : error;
  }
  return { isLight: walk.isPlain && walk.code <= LITTLE_CODE && walk.patterns <= FEW_PATTERNS };
}

function costOf(schema: JsonObject, walk: Walk): number {
  const before = walk.costs.get(schema);
  if (before !== undefined) return before;
  // A type may hold itself, as a tree does: then the value decides how often it is gone through.
  if (walk.open.has(schema)) return 1;
  walk.open.add(schema);
  count(schema, walk);
  let total = ownSize(schema);
  const applied: JsonObject[] = [];
  const follow = (inner: JsonObject, isInPlace: boolean): void => {
    if (isInPlace) applied.push(inner);
    total += costOf(inner, walk);
    if (total > MAX_COST) throw new Error('its references multiply beyond all bounds');
  };
  eachSubschema(schema, (inner, { keyword, isInPlace }) => {
    // Definitions count where they are used.
    if (!NO_CODE.includes(keyword)) follow(inner, isInPlace);
  });
  const target = targetOf(schema, walk);
  if (target !== undefined) follow(target, true);
  walk.inPlace.set(schema, applied);
  walk.open.delete(schema);
  walk.costs.set(schema, total);
  return total;
}

function count(schema: JsonObject, walk: Walk): void {
  const { pattern, patternProperties } = schema;
  const byPattern = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  const patterns = typeof pattern === 'string' ? [...byPattern, pattern] : byPattern;
  walk.patterns += patterns.reduce((sum, text) => sum + patternSize(text), 0);
  walk.code += 1 + ownSize(schema, NOT_COMPILED);
  if (walk.patterns > MAX_PATTERNS) throw new Error(`its patterns are larger than ${MAX_PATTERNS} steps`);
  for (const text of patterns) if (!isPattern(text, walk)) walk.isPlain = false;
  if (walk.code > MAX_CODE) throw tooMuchCode();
}

function tooMuchCode(): Error {
  return new Error(`it has more than ${MAX_CODE} keywords and values`);
}

/**
 * Whether it is a pattern of JavaScript, or of RE2, which knows some that JavaScript does not. Throws when it is
 * neither. RE2 compiles to find out, so where there are many patterns that is left to the process for large schemas,
 * and this is false.
 */
function isPattern(pattern: string, walk: Walk): boolean {
  try {
    // Only read here: JavaScript compiles with the first use.
    new RegExp(pattern, 'u');
  } catch (error) {
    if (walk.patterns > FEW_PATTERNS) return false;
    if (!isRe2(pattern)) throw error;
  }
  return true;
}

function isRe2(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}

function targetOf({ $ref }: JsonObject, walk: Walk): JsonObject | undefined {
  if (typeof $ref !== 'string') return undefined;
  const target = resolvePointer(walk.root, $ref);
  // A name is found by the compiler, if at all. Nothing is ever fetched.
  if (target === undefined && !walk.hasNames) throw new Error(`can't resolve reference ${$ref.slice(0, MAX_SHOWN)}`);
  if (!isJsonObject(target)) return undefined;
  if (!walk.known.has(target)) walk.isPlain = false;
  return target;
}

function allSubschemas(root: JsonObject): ReadonlySet<JsonObject> {
  const known = new Set<JsonObject>();
  const visit = (schema: JsonObject): void => {
    if (known.size > MAX_CODE) throw tooMuchCode();
    known.add(schema);
    eachSubschema(schema, visit);
  };
  visit(root);
  return known;
}

/** Throws when a schema is applied to a value by applying it to the same value. */
function assertEnds(inPlace: ReadonlyMap<JsonObject, readonly JsonObject[]>): void {
  const done = new Set<JsonObject>();
  const open = new Set<JsonObject>();
  const visit = (schema: JsonObject): void => {
    if (done.has(schema)) return;
    if (open.has(schema)) throw new Error('its schema refers to itself without end');
    open.add(schema);
    inPlace.get(schema)?.forEach(visit);
    open.delete(schema);
    done.add(schema);
  };
  for (const schema of inPlace.keys()) visit(schema);
}

import { isJsonObject, type JsonObject, type JsonValue, without } from '../util/json';

/** So many schemas are looked into at most: references may lead back to where they come from. */
const MAX_SCHEMAS = 1000;
/** Keywords that hold schemas for the same value, or for the entries of a list. */
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const SINGLE = ['items', 'then', 'else'] as const;
/** Keywords that mean something else without a part of what they say, with those that mean nothing without them. */
const WHOLE = { if: ['if', 'then', 'else'], not: ['not'], contains: ['contains'] } as const;
/** Keywords for the arguments that are not declared by name. */
const UNDECLARED = ['additionalProperties', 'unevaluatedProperties'] as const;
/** Keywords whose rules stand under names of arguments. */
const DEPENDENT = ['dependentSchemas', 'dependentRequired', 'dependencies'] as const;

interface Walk {
  readonly root: JsonObject;
  left: number;
}

/** The schema without the argument at a path: through lists, alternatives, conditions and references within it. */
export function hideFromSchema(schema: JsonObject, path: readonly string[]): JsonObject {
  const hidden = hideAt(schema, path, { root: schema, left: MAX_SCHEMAS }) as JsonObject;
  return hidden === schema ? schema : withoutUnused(hidden);
}

/** Gives the schema itself back where there is nothing to hide. */
function hideAt(schema: JsonValue, path: readonly string[], walk: Walk): JsonValue {
  if (!isJsonObject(schema) || walk.left-- <= 0) return schema;
  const dropped = droppedWhole(schema, path, walk);
  const left = dropped.reduce(without, schema);
  const changes = {
    ...hideInKeywords(left, path, walk),
    ...hideProperty(left, path, walk),
    ...hideUndeclared(left, path, walk),
    ...hideDependent(left, path, walk),
  };
  const own = Object.keys(changes).length === 0 ? left : { ...left, ...changes };
  const target = targetOf(schema, walk.root);
  const hidden = target === undefined ? target : hideAt(target, path, walk);
  if (hidden === target) return own;
  // Others may refer to the same schema, and are shown it as it is.
  return { ...(hidden as JsonObject), ...without(own, '$ref') };
}

/** The keywords that go, since they name the argument and cannot do without it. */
function droppedWhole(schema: JsonObject, path: readonly string[], walk: Walk): readonly string[] {
  const named = Object.entries(WHOLE).filter(([keyword]) => {
    const inner = schema[keyword];
    return inner !== undefined && hideAt(inner, path, walk) !== inner;
  });
  const { propertyNames } = schema;
  const namesIt = path.length === 1 && JSON.stringify(propertyNames ?? null).includes(JSON.stringify(path[0]));
  return [...named.flatMap(([, keywords]) => keywords), ...(namesIt ? ['propertyNames'] : [])];
}

function hideInKeywords(schema: JsonObject, path: readonly string[], walk: Walk): JsonObject {
  const found = [...LISTS, ...SINGLE].filter((keyword) => schema[keyword] !== undefined);
  const entries = found.map((keyword) => {
    const inner = schema[keyword] as JsonValue;
    return [keyword, Array.isArray(inner) ? hideInList(inner, path, walk) : hideAt(inner, path, walk)] as const;
  });
  return Object.fromEntries(entries.filter(([keyword, hidden]) => hidden !== schema[keyword]));
}

function hideInList(schemas: readonly JsonValue[], path: readonly string[], walk: Walk): JsonValue {
  const hidden = schemas.map((one) => hideAt(one, path, walk));
  return hidden.every((one, index) => one === schemas[index]) ? schemas : hidden;
}

function hideProperty(
  { properties, required }: JsonObject,
  [key = '', ...rest]: readonly string[],
  walk: Walk,
): Record<string, JsonValue> {
  const inner = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (rest.length > 0) {
    const hidden = inner === undefined ? inner : hideAt(inner, rest, walk);
    return hidden === inner ? {} : { properties: { ...(properties as JsonObject), [key]: hidden as JsonValue } };
  }
  return {
    ...(inner === undefined ? {} : { properties: without(properties as JsonObject, key) }),
    ...(Array.isArray(required) && required.includes(key)
      ? { required: (required as JsonValue[]).filter((name) => name !== key) }
      : {}),
  };
}

/** Where an argument has its schema from a pattern of its name, or from the rule for all others. */
function hideUndeclared(schema: JsonObject, path: readonly string[], walk: Walk): Record<string, JsonValue> {
  const { properties, patternProperties } = schema;
  const [key = '', ...rest] = path;
  const hideRest = (inner: JsonValue): JsonValue => (rest.length === 0 ? inner : hideAt(inner, rest, walk));
  const changes: Record<string, JsonValue> = {};
  if (isJsonObject(patternProperties)) {
    const shown = Object.entries(patternProperties).filter(([pattern]) => rest.length > 0 || !isNamedBy(pattern, key));
    const hidden = Object.fromEntries(shown.map(([pattern, inner]) => [pattern, hideRest(inner)]));
    if (!areSame(hidden, patternProperties)) changes.patternProperties = hidden;
  }
  if (isJsonObject(properties) && Object.hasOwn(properties, key)) return changes;
  for (const keyword of UNDECLARED) {
    const inner = schema[keyword];
    const hidden = inner === undefined ? inner : hideRest(inner);
    if (hidden !== undefined && hidden !== inner) changes[keyword] = hidden;
  }
  return changes;
}

/** A pattern that only lets the name through tells nothing of it. */
function isNamedBy(pattern: string, key: string): boolean {
  return pattern.replaceAll('\\', '').includes(key);
}

function hideDependent(schema: JsonObject, path: readonly string[], walk: Walk): Record<string, JsonValue> {
  const name = path.length === 1 ? path[0] : undefined;
  const changes: Record<string, JsonValue> = {};
  for (const keyword of DEPENDENT) {
    const rules = schema[keyword];
    if (!isJsonObject(rules)) continue;
    const shown = Object.entries(rules).filter(([argument]) => argument !== name);
    const hidden = Object.fromEntries(shown.map(([argument, rule]) => [argument, hideInRule(rule)]));
    if (!areSame(hidden, rules)) changes[keyword] = hidden;
  }
  return changes;

  /** A schema, or names of arguments that are required too. */
  function hideInRule(rule: JsonValue): JsonValue {
    if (!Array.isArray(rule)) return hideAt(rule, path, walk);
    const names = rule as readonly JsonValue[];
    return name !== undefined && names.includes(name) ? names.filter((other) => other !== name) : names;
  }
}

function areSame(a: JsonObject, b: JsonObject): boolean {
  const names = Object.keys(b);
  return Object.keys(a).length === names.length && names.every((name) => a[name] === b[name]);
}

/** What `#/…` leads to; undefined for no reference, or one that leads elsewhere. */
function targetOf({ $ref: reference }: JsonObject, root: JsonObject): JsonValue | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  const parts = reference.split('/').slice(1);
  return parts.reduce<JsonValue | undefined>((value, part) => {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, root);
}

/** Definitions that nothing refers to any more would show what is hidden. */
function withoutUnused(schema: JsonObject): JsonObject {
  return ['$defs', 'definitions'].reduce((shown, keyword) => {
    const definitions = shown[keyword];
    if (!isJsonObject(definitions)) return shown;
    const used = new Set(namesIn(without(shown, keyword), keyword));
    // A set is gone through with what is added on the way.
    for (const name of used) for (const inner of namesIn(definitions[name] ?? null, keyword)) used.add(inner);
    return { ...shown, [keyword]: Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name))) };
  }, schema);
}

/** The definitions under a keyword that a value refers to. */
function namesIn(value: JsonValue, keyword: string): readonly string[] {
  const start = `"#/${keyword}/`;
  const rest = JSON.stringify(value).split(start).slice(1);
  return rest.map((text) => (text.split(/["/]/, 1)[0] ?? '').replaceAll('~1', '/').replaceAll('~0', '~'));
}

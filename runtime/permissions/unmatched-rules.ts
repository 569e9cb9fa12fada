import type { ToolPermission, ToolRules } from '../contracts/tools/permission';
import { describeError, type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { nearestAmong } from '../util/known-keys';
import { editDistance } from '../util/text/edit-distance';
import { turn } from '../util/turn';
import { isNamed } from './name-pattern';

/** One level of rules, with its place for error messages. */
export interface RulesAt extends ToolRules {
  readonly where: string;
  /** True for rules of a single tenant, which should name its own tools only. */
  readonly isOwn: boolean;
  /** Set for rules of the task itself, and of those that it works for. */
  readonly ofTask?: 'own' | 'above';
}

export interface RuledTool {
  /** All names that rules may have for it. */
  readonly names: readonly string[];
  /** Undefined where it is not known. */
  readonly schema?: JsonObject;
}

export interface UnmatchedRule {
  readonly rule: string;
  readonly reason: string;
}

/** Returns true for a name that an unlisted tool may have: its server did not answer, or the operator excludes it. */
type IsElsewhere = (name: string) => boolean;

/** Limit of reported rules; correcting them reveals the next ones. */
export const MOST_TOLD = 12;
/** Limit of unknown names that are compared with the known ones. */
const MOST_COMPARED = 50;

/**
 * Returns the first twelve rules that match nothing: the tool does not exist, or does not declare the argument. A name with a
 * star may be meant for future tools. Rules shared by many tenants name tools that some of them lack, so only misspellings are
 * reported there.
 */
export async function unmatchedRules(
  levels: readonly RulesAt[],
  tools: readonly RuledTool[],
  isElsewhere: IsElsewhere,
): Promise<readonly UnmatchedRule[]> {
  const names = tools.flatMap((tool) => tool.names);
  const known = new Set(names);
  const nearest = nearestAmong(names);
  const told: UnmatchedRule[] = [];
  let compared = 0;
  for (const { rule, name, isOwn, permission } of levels.flatMap(namedIn)) {
    if (told.length >= MOST_TOLD || compared >= MOST_COMPARED) break;
    await turn();
    if (name.includes('*') || known.has(name)) {
      if (permission !== undefined) told.push(...unmatchedIn(permission, { rule, name, isOwn, tools }));
      continue;
    }
    compared++;
    const near = nearest(name);
    if (near !== undefined || (isOwn && !isElsewhere(name)))
      told.push({ rule, reason: `there is no tool "${name}"${meant(near)}` });
  }
  return told.slice(0, MOST_TOLD);
}

interface NamedRule {
  readonly rule: string;
  readonly name: string;
  readonly isOwn: boolean;
  readonly permission?: ToolPermission;
}

function namedIn({ where, isOwn, enabled = [], disabled, permissions }: RulesAt): readonly NamedRule[] {
  return [
    // An allow-list shared by many tenants fails closed.
    ...(isOwn ? enabled : []).map((name) => ({ rule: `${where}.enabled_tools`, name, isOwn })),
    ...disabled.map((name) => ({ rule: `${where}.disabled_tools`, name, isOwn })),
    ...permissions.map(({ name, permission }) => ({
      rule: `${where}.tool_permissions.${name}`,
      ...{ name, isOwn, permission },
    })),
  ];
}

/** Arguments in the rules under this name that none of its tools declares. A lone star means all tools, also those to come. */
function unmatchedIn(
  permission: ToolPermission,
  { rule, name, isOwn, tools }: NamedRule & { readonly tools: readonly RuledTool[] },
): readonly UnmatchedRule[] {
  if (name.includes('*') && (!isOwn || /^\*+$/.test(name))) return [];
  const schemas = tools.filter((tool) => isNamed(tool.names, [name])).map(({ schema }) => schema);
  return unmatchedArguments(permission, { rule, name, schemas });
}

interface RuledArguments {
  readonly rule: string;
  readonly name: string;
  /** Schemas of the tools that the rules are for; undefined for one that is not known. */
  readonly schemas: readonly (JsonObject | undefined)[];
}

/** Arguments in the rules that no schema declares. */
export function unmatchedArguments(
  { limits, patterns, fixedArguments }: ToolPermission,
  { rule, name, schemas }: RuledArguments,
): readonly UnmatchedRule[] {
  const [first] = schemas;
  if (first === undefined) return [];
  const undeclared = (given: object): readonly string[] =>
    Object.keys(given)
      .slice(0, MOST_COMPARED)
      .filter((argument) => !schemas.some((schema) => mayHold(schema, argument.split('.'))));
  const nearest = nearestAmong(Object.keys(isJsonObject(first.properties) ? first.properties : {}));
  const report = (kind: string, argument: string): UnmatchedRule => ({
    rule: `${rule}.${kind}.${argument}`,
    reason: `tool "${name}" declares no argument "${argument}"${meant(nearest(argument))}`,
  });
  return [
    ...undeclared(limits).map((argument) => report('limits', argument)),
    ...undeclared(patterns).map((argument) => report('allowed_patterns', argument)),
    // A server may accept a fixed argument that it does not declare.
    ...undeclared(fixedArguments)
      .filter((argument) => nearest(argument) !== undefined)
      .map((argument) => report('fixed_arguments', argument)),
  ];
}

/** The warning of a run. */
export function warnOf(rule: UnmatchedRule): ErrorSummary {
  return describeError('RULE_UNMATCHED', { ...rule });
}

/** Throws RULE_UNMATCHED for the first one. */
export function refuseUnmatched([first]: readonly UnmatchedRule[]): void {
  if (first !== undefined) throw new RuntimeError('RULE_UNMATCHED', { ...first });
}

function meant(near: string | undefined): string {
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}

/** Keywords that may declare arguments beyond `properties`. */
const OPENING = [
  ...['$ref', '$dynamicRef', '$recursiveRef', 'patternProperties', 'unevaluatedProperties', 'prefixItems'],
  ...['dependencies', 'dependentSchemas', 'if', 'then', 'else'],
];
const COMBINING = ['allOf', 'anyOf', 'oneOf'];
const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];

/** Returns true if a value of this schema may have the path, in lists too. A name may contain the dot. */
function mayHold(schema: JsonValue | undefined, path: readonly string[]): boolean {
  if (path.length === 0 || !isJsonObject(schema) || isOpen(schema)) return true;
  const { type, properties, items } = schema;
  if (SCALARS.includes(type)) return false;
  if (items === undefined) return mayHaveProperty(schema, path);
  return mayHold(items, path) || (properties !== undefined && mayHaveProperty(schema, path));
}

function isOpen(schema: JsonObject): boolean {
  const isOpened = OPENING.some((keyword) => Object.hasOwn(schema, keyword));
  return isOpened || COMBINING.some((keyword) => declares(schema[keyword]));
}

function mayHaveProperty(
  { properties, additionalProperties }: JsonObject,
  [key = '', ...rest]: readonly string[],
): boolean {
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return additionalProperties !== false;
  if (Object.hasOwn(properties, [key, ...rest].join('.'))) return true;
  if (Object.hasOwn(properties, key)) return mayHold(properties[key], rest);
  return additionalProperties === true || isJsonObject(additionalProperties);
}

/** Returns true if one of the schemas has more than `required`. */
function declares(schemas: JsonValue | undefined): boolean {
  if (!Array.isArray(schemas)) return schemas !== undefined;
  return schemas.some(
    (one: JsonValue) => !isJsonObject(one) || Object.keys(one).some((keyword) => keyword !== 'required'),
  );
}

/** Returns the agent with rules whose name differs from this one by case or up to two letters. */
export function nearAgent(agent: string, withRules: readonly string[]): string | undefined {
  if (withRules.includes(agent)) return undefined;
  const same = withRules.find((name) => name.toLowerCase() === agent.toLowerCase());
  return same ?? withRules.find((name) => areNear(name, agent));
}

const SHORTEST = 5;
const LONGEST = 100;

/** Short names such as "eu" and "us" are different names. */
function areNear(one: string, other: string): boolean {
  const lengths = [one.length, other.length];
  if (Math.min(...lengths) < SHORTEST || Math.max(...lengths) > LONGEST) return false;
  return Math.abs(one.length - other.length) <= 2 && editDistance(one.toLowerCase(), other.toLowerCase(), 2) <= 2;
}

import type { ToolPermission, ToolRules } from '../contracts/tools/permission';
import { describeError, type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { nearestAmong, nearestKey } from '../util/known-keys';
import { editDistance } from '../util/text/edit-distance';
import { turn } from '../util/turn';
import { isNamed } from './name-pattern';

/** One level of rules, and where it stands. */
export interface RulesAt extends ToolRules {
  readonly where: string;
  /** True for rules that one tenant has, so that each name in them should be that of a tool of its own. */
  readonly isOwn: boolean;
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

/** Names that may be those of tools which nobody has listed: a server may not have answered, or the operator holds some back. */
type IsElsewhere = (name: string) => boolean;

/** No more are told: whoever corrects them is told of the next ones. */
export const MOST_TOLD = 12;
/** So many unknown names are compared with all that are known. */
const MOST_COMPARED = 50;

/**
 * The rules that match nothing, at most twelve: a tool of no such name, or an argument that the tool does not declare. A name
 * with a star may be meant for tools to come. Rules for many tenants name tools that not each of them has, so there only a
 * name that is nearly one of the tools is told.
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
    // Of the others nothing is lost: a list that allows what nobody has allows nothing.
    ...(isOwn ? enabled : []).map((name) => ({ rule: `${where}.enabled_tools`, name, isOwn })),
    ...disabled.map((name) => ({ rule: `${where}.disabled_tools`, name, isOwn })),
    ...permissions.map(({ name, permission }) => ({
      rule: `${where}.tool_permissions.${name}`,
      ...{ name, isOwn, permission },
    })),
  ];
}

/** The arguments that none of the tools declares which the name stands for; a lone star stands for all that may come. */
function unmatchedIn(
  permission: ToolPermission,
  { rule, name, isOwn, tools }: NamedRule & { readonly tools: readonly RuledTool[] },
): readonly UnmatchedRule[] {
  if (name.includes('*') && (!isOwn || /^\*+$/.test(name))) return [];
  const [first, ...others] = tools.filter((tool) => isNamed(tool.names, [name]));
  if (first === undefined) return [];
  const ofFirst = unmatchedArguments(permission, { rule, name, tool: first });
  return others.reduce((left, tool) => {
    const ofOther = new Set(unmatchedArguments(permission, { rule, name, tool }).map((one) => one.rule));
    return left.filter((one) => ofOther.has(one.rule));
  }, ofFirst);
}

/** The arguments in the rules for one tool that it does not declare. */
export function unmatchedArguments(
  { limits, patterns, fixedArguments }: ToolPermission,
  { rule, name, tool: { schema } }: { readonly rule: string; readonly name: string; readonly tool: RuledTool },
): readonly UnmatchedRule[] {
  if (schema === undefined) return [];
  const declared = Object.keys(isJsonObject(schema.properties) ? schema.properties : {});
  const undeclared = (given: object): readonly string[] =>
    Object.keys(given)
      .slice(0, MOST_COMPARED)
      .filter((argument) => !mayHold(schema, argument.split('.')));
  const tell = (kind: string, argument: string, near = nearestKey(argument, declared)): UnmatchedRule => ({
    rule: `${rule}.${kind}.${argument}`,
    reason: `tool "${name}" declares no argument "${argument}"${meant(near)}`,
  });
  return [
    ...undeclared(limits).map((argument) => tell('limits', argument)),
    ...undeclared(patterns).map((argument) => tell('allowed_patterns', argument)),
    // What a server takes without declaring it may well be fixed.
    ...undeclared(fixedArguments)
      .filter((argument) => nearestKey(argument, declared) !== undefined)
      .map((argument) => tell('fixed_arguments', argument)),
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

/** Keywords by which a schema may declare more than its own properties. */
const OPENING = [
  ...['$ref', '$dynamicRef', '$recursiveRef', 'patternProperties', 'unevaluatedProperties', 'prefixItems'],
  ...['dependencies', 'dependentSchemas', 'if', 'then', 'else'],
];
const COMBINING = ['allOf', 'anyOf', 'oneOf'];
const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];

/** Whether a value may have something at the path, in lists too. A name may hold the dot. */
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

/** Whether one of the schemas says more than which arguments there must be. */
function declares(schemas: JsonValue | undefined): boolean {
  if (!Array.isArray(schemas)) return schemas !== undefined;
  return schemas.some(
    (one: JsonValue) => !isJsonObject(one) || Object.keys(one).some((keyword) => keyword !== 'required'),
  );
}

/** The agent that has rules under a name which differs from this one only by case, or by two letters. */
export function nearAgent(agent: string, withRules: readonly string[]): string | undefined {
  if (withRules.includes(agent)) return undefined;
  const same = withRules.find((name) => name.toLowerCase() === agent.toLowerCase());
  return same ?? withRules.find((name) => areNear(name, agent));
}

const SHORTEST = 5;
const LONGEST = 100;

/** Short names, such as "eu" and "us", differ by two letters and mean it. */
function areNear(one: string, other: string): boolean {
  const lengths = [one.length, other.length];
  if (Math.min(...lengths) < SHORTEST || Math.max(...lengths) > LONGEST) return false;
  return Math.abs(one.length - other.length) <= 2 && editDistance(one.toLowerCase(), other.toLowerCase(), 2) <= 2;
}

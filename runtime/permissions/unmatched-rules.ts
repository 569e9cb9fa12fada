import type { ToolPermission, ToolRules } from '../contracts/tools/permission';
import { describeError, type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { nearestKey } from '../util/known-keys';
import { editDistance } from '../util/text/edit-distance';

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

/** Names that stand for tools which nobody has listed: those of a server that was not asked, or did not answer. */
type IsElsewhere = (name: string) => boolean;

/**
 * The rules that match nothing: a tool of no such name, or an argument that the tool does not declare. A name with a star
 * may be meant for tools to come. Rules for many tenants name tools that not each of them has, so there only a name that is
 * nearly one of the tools is told.
 */
export function unmatchedRules(
  levels: readonly RulesAt[],
  tools: readonly RuledTool[],
  isElsewhere: IsElsewhere,
): readonly UnmatchedRule[] {
  const names = tools.flatMap((tool) => tool.names);
  const known = new Set(names);
  const unknown = (rule: string, name: string, isOwn: boolean): readonly UnmatchedRule[] => {
    if (name.includes('*') || known.has(name) || isElsewhere(name)) return [];
    const near = nearestKey(name, names);
    return near === undefined && !isOwn ? [] : [{ rule, reason: `there is no tool "${name}"${meant(near)}` }];
  };
  return levels.flatMap(({ where, isOwn, enabled = [], disabled, permissions }) => [
    // Of the others nothing is lost: a list that allows what nobody has allows nothing.
    ...(isOwn ? enabled : []).flatMap((name) => unknown(`${where}.enabled_tools`, name, isOwn)),
    ...disabled.flatMap((name) => unknown(`${where}.disabled_tools`, name, isOwn)),
    ...permissions.flatMap(({ name, permission }) => {
      const rule = `${where}.tool_permissions.${name}`;
      const tool = tools.find((one) => one.names.includes(name));
      return tool === undefined ? unknown(rule, name, isOwn) : unmatchedArguments(permission, { rule, name, tool });
    }),
  ]);
}

/** The arguments in the rules for one tool that it does not declare. */
export function unmatchedArguments(
  { limits, patterns, fixedArguments }: ToolPermission,
  { rule, name, tool: { schema } }: { readonly rule: string; readonly name: string; readonly tool: RuledTool },
): readonly UnmatchedRule[] {
  if (schema === undefined) return [];
  const declared = Object.keys(isJsonObject(schema.properties) ? schema.properties : {});
  const tell = (kind: string, argument: string, near = nearestKey(argument, declared)): UnmatchedRule => ({
    rule: `${rule}.${kind}.${argument}`,
    reason: `tool "${name}" declares no argument "${argument}"${meant(near)}`,
  });
  const isUndeclared = (argument: string): boolean =>
    !mayHold(schema, [argument]) && !mayHold(schema, argument.split('.'));
  return [
    ...Object.keys(limits)
      .filter(isUndeclared)
      .map((argument) => tell('limits', argument)),
    ...Object.keys(patterns)
      .filter(isUndeclared)
      .map((argument) => tell('allowed_patterns', argument)),
    // What a server takes without declaring it may well be fixed.
    ...Object.keys(fixedArguments)
      .filter((argument) => isUndeclared(argument) && nearestKey(argument, declared) !== undefined)
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
const OPENING = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', 'patternProperties'];

/** Whether a value may have something at the path, in lists too. */
function mayHold(schema: JsonValue | undefined, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined || !isJsonObject(schema) || OPENING.some((keyword) => Object.hasOwn(schema, keyword)))
    return true;
  const { properties, additionalProperties, items } = schema;
  if (isJsonObject(items)) return mayHold(items, [key, ...rest]);
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return additionalProperties !== false;
  if (Object.hasOwn(properties, key)) return mayHold(properties[key], rest);
  return additionalProperties === true || isJsonObject(additionalProperties);
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
  return Math.abs(one.length - other.length) <= 2 && editDistance(one.toLowerCase(), other.toLowerCase()) <= 2;
}

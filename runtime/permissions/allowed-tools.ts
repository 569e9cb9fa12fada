import type { ToolPermission } from '../contracts/tools/permission';
import type { TenantTool } from '../contracts/tools/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { turn } from '../util/turn';
import { combinePermissions } from './combine-permissions';
import { guardTool } from './guard-tool';
import { isNamed } from './name-pattern';
import { isGrant, readPermission } from './read-tool-rules';
import {
  MOST_TOLD,
  type RulesAt,
  unmatchedArguments,
  type UnmatchedRule,
  unmatchedRules,
  warnOf,
} from './unmatched-rules';

type Candidate = Omit<TenantTool, 'type'>;

export interface Policy {
  /** Undefined: whatever the tier. */
  readonly tier?: string;
  /** Each level can only narrow what the others leave. */
  readonly levels: readonly RulesAt[];
  /** Set if an agent with nearly the task's agent name has rules. */
  readonly nearAgent?: UnmatchedRule;
  /** The task's own allow-list; a name in it that the tenant does not have is a warning. */
  readonly asked?: readonly string[];
}

/**
 * The tools that this run may use, each with its rules around it. In a deny-list, or in no allow-list where there is one:
 * not offered. An empty allow-list means none.
 */
export function allowedTools<T extends Candidate>(
  tools: readonly T[],
  policy: Policy,
): { readonly tools: readonly T[]; readonly warnings: readonly ErrorSummary[] } {
  const allowed: T[] = [];
  const warnings: ErrorSummary[] = [];
  for (const candidate of tools) {
    if (!isListed(candidate, policy)) continue;
    try {
      const permission = permissionOf(candidate, policy.levels);
      if (permission.decision === 'deny') continue;
      allowed.push({ ...candidate, tool: guardTool(candidate.tool, permission, candidate) });
    } catch (error) {
      const { name } = candidate.tool.definition;
      warnings.push(describeError('TOOL_SKIPPED', { tool: name, reason: errorText(error) }));
    }
  }
  return { tools: allowed, warnings: [...warnings, ...unknownNames(tools, policy)] };
}

/** Names that the tenant's rules may use beside those of the candidates. */
export interface OtherNames {
  /** Codes of its rows and names of its servers' tools, offered or not. */
  readonly codes: readonly string[];
  /** Names of its MCP servers. */
  readonly servers: readonly string[];
}

/** Returns warnings of rules that match nothing, at most twelve. */
export async function unmatchedWarnings(
  tools: readonly Candidate[],
  { levels, nearAgent }: Policy,
  { codes, servers }: OtherNames,
): Promise<readonly ErrorSummary[]> {
  const names = new Set(tools.flatMap(formerNamesOf));
  const isElsewhere = (name: string): boolean => servers.some((server) => isOfServer(name, server));
  const ruled = [
    ...tools.map((candidate) => ({ names: formerNamesOf(candidate), schema: candidate.tool.definition.inputSchema })),
    { names: codes.filter((code) => !names.has(code)) },
  ];
  const found = nearAgent === undefined ? [] : [nearAgent];
  // What a task says of tools is for all that works for it: some rules match elsewhere.
  const own = levels.filter(({ ofTask }) => ofTask !== 'above');
  found.push(...(await unmatchedRules(own, ruled, isElsewhere)));
  for (const { tool, permission } of tools) {
    if (found.length >= MOST_TOLD) break;
    await turn();
    const { name, inputSchema } = tool.definition;
    const ofRow = ownPermission(permission);
    if (ofRow !== undefined) found.push(...unmatchedArguments(ofRow, { rule: ROW, name, schemas: [inputSchema] }));
  }
  return found.slice(0, MOST_TOLD).map(warnOf);
}

/** Returns undefined for rules that cannot be read; their tool is skipped. */
function ownPermission(permission: unknown): ToolPermission | undefined {
  try {
    return permission === undefined || permission === null ? undefined : readPermission(permission, ROW);
  } catch {
    return undefined;
  }
}

const ROW = 'custom_config.permissions';

function isListed(candidate: Candidate, { tier, levels }: Policy): boolean {
  if (tier !== undefined && candidate.allowedTiers?.includes(tier) === false) return false;
  const denied = formerNamesOf(candidate);
  if (levels.some(({ disabled }) => isNamed(denied, disabled))) return false;
  const { comesWith } = candidate;
  if (comesWith === 'skills' || comesWith === 'mode') return true;
  const names = namesOf(candidate);
  const lists = comesWith === undefined ? levels : levels.filter(({ ofTask }) => ofTask !== undefined);
  const isInLists = lists.every(({ enabled }) => enabled === undefined || isNamed(names, enabled));
  return isInLists && (comesWith !== undefined || isGranted(candidate, levels));
}

/**
 * Where a level says that a tool needs a grant, its row, that level or one behind it has to give it: a tier does not grant
 * what a tenant holds back. A task cannot grant anything.
 */
function isGranted(candidate: Candidate, levels: readonly RulesAt[]): boolean {
  const names = namesOf(candidate);
  return levels.every(({ otherwise }, index) => {
    if (otherwise === undefined || (otherwise === 'read-only' && candidate.tool.isReadOnly === true)) return true;
    return isGrant(candidate.permission) || levels.slice(index).some(({ granted }) => isNamed(names, granted));
  });
}

function permissionOf(candidate: Candidate, levels: readonly RulesAt[]): ToolPermission {
  const { permission: own } = candidate;
  const names = formerNamesOf(candidate);
  const ofLevels = levels.flatMap(({ permissions }) =>
    permissions.filter(({ name }) => isNamed(names, [name])).map(({ permission }) => permission),
  );
  const ofRow = own === undefined || own === null ? [] : [readPermission(own, ROW)];
  return combinePermissions([...ofRow, ...ofLevels]);
}

function unknownNames(tools: readonly Candidate[], { asked = [], tier }: Policy): readonly ErrorSummary[] {
  const ofTier = tools.filter(({ allowedTiers }) => tier === undefined || (allowedTiers?.includes(tier) ?? true));
  const names = new Set(ofTier.flatMap(namesOf));
  return asked
    .filter((name) => !name.includes('*') && !names.has(name))
    .map((tool) => describeError('TOOL_NOT_LOADED', { tool }));
}

/** The names of a tool in allow-lists. */
export function namesOf({ tool, alias }: Pick<Candidate, 'tool' | 'alias'>): readonly string[] {
  const { name } = tool.definition;
  return alias === undefined ? [name] : [name, alias];
}

/**
 * The names of a tool, with the one that it has as long as no other tool comes with the same: one that brings another
 * name about must not slip out of the rules. Such a name narrows only, since it may be that of two tools.
 */
function formerNamesOf(candidate: Candidate): readonly string[] {
  const { formerName } = candidate;
  const names = namesOf(candidate);
  return formerName === undefined ? names : [...names, formerName];
}

/** False when no tool of this server can be allowed, whatever it offers. */
export function mayHaveToolsOf(
  server: { readonly name: string; readonly allowedTiers?: readonly string[] },
  { tier, levels }: Policy,
): boolean {
  if (tier !== undefined && server.allowedTiers?.includes(tier) === false) return false;
  const mayBeOfServer = (entry: string): boolean => entry.includes('*') || isOfServer(entry, server.name);
  return levels.every(({ enabled }) => enabled?.some(mayBeOfServer) ?? true);
}

/** Returns true for names of the form `server.tool` and `server_tool`. */
export function isOfServer(name: string, server: string): boolean {
  return name.startsWith(`${server}.`) || name.startsWith(`${server}_`);
}

import type { Tool } from '../contracts/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';

interface Candidate {
  readonly tool: Tool;
  readonly allowedTiers?: readonly string[];
  /** Another name for the same tool in lists: `server.tool`. */
  readonly alias?: string;
}

export interface ToolRules {
  /** Undefined: whatever the tier. */
  readonly tier?: string;
  readonly allowList?: readonly string[];
}

/**
 * The tools that this run may use: allowed for the tier, and in the allow-list when there is one.
 * An empty allow-list means none. A listed name that the tenant does not have is a warning.
 */
export function allowedTools<T extends Candidate>(
  tools: readonly T[],
  rules: ToolRules,
): { readonly tools: readonly T[]; readonly warnings: readonly ErrorSummary[] } {
  const { tier, allowList } = rules;
  const ofTier = tools.filter(({ allowedTiers }) => tier === undefined || (allowedTiers?.includes(tier) ?? true));
  if (allowList === undefined) return { tools: ofTier, warnings: [] };
  const names = new Set(ofTier.flatMap(namesOf));
  return {
    tools: ofTier.filter((candidate) => namesOf(candidate).some((name) => allowList.includes(name))),
    warnings: allowList.filter((name) => !names.has(name)).map((tool) => describeError('TOOL_NOT_LOADED', { tool })),
  };
}

function namesOf({ tool, alias }: Candidate): readonly string[] {
  const { name } = tool.definition;
  return alias === undefined ? [name] : [name, alias];
}

/** False when no tool of this server can be allowed, whatever it offers. */
export function mayHaveToolsOf(
  server: { readonly name: string; readonly allowedTiers?: readonly string[] },
  { tier, allowList }: ToolRules,
): boolean {
  if (tier !== undefined && server.allowedTiers?.includes(tier) === false) return false;
  return allowList?.some((name) => name.startsWith(`${server.name}.`) || name.startsWith(`${server.name}_`)) ?? true;
}

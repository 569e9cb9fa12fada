import type { Tool } from '../contracts/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';

/**
 * The tools that this run may use: allowed for the tier, and in the allow-list when there is one.
 * An empty allow-list means none. A listed name that the tenant does not have is a warning.
 */
export function allowedTools(
  tools: readonly { readonly tool: Tool; readonly allowedTiers?: readonly string[] }[],
  rules: { readonly tier: string; readonly allowList?: readonly string[] },
): { readonly tools: readonly Tool[]; readonly warnings: readonly ErrorSummary[] } {
  const { tier, allowList } = rules;
  const ofTier = tools
    .filter((candidate) => candidate.allowedTiers?.includes(tier) ?? true)
    .map((candidate) => candidate.tool);
  if (allowList === undefined) return { tools: ofTier, warnings: [] };
  const names = new Set(ofTier.map((tool) => tool.definition.name));
  return {
    tools: ofTier.filter((tool) => allowList.includes(tool.definition.name)),
    warnings: allowList.filter((name) => !names.has(name)).map((tool) => describeError('TOOL_NOT_LOADED', { tool })),
  };
}

import type { ToolRow } from './contracts/tenant';
import type { Tool, Toolset } from './contracts/tool';
import type { ErrorSummary } from './errors/runtime-error';
import { allowedTools } from './permissions/allowed-tools';
import type { BuildTools } from './tools/build-tools';
import { createToolset } from './tools/combine-toolsets';

export interface SelectedTools {
  readonly toolset: Toolset;
  /** Rows that cannot be offered, and listed names that do not exist. */
  readonly warnings: readonly ErrorSummary[];
}

export interface ToolRules {
  readonly tier: string;
  readonly allowList?: readonly string[];
}

export type SelectTools = (rows: readonly ToolRow[], rules: ToolRules) => SelectedTools;

/** More sets of rules than this for the same rows, and all are forgotten. */
const REMEMBERED_RULES = 50;

/**
 * Which tools a run has: the tenant's own and the plugged-in ones, filtered by policy. While the tenant's rows have
 * not changed, the same rules give the same toolset object, so that its definitions are serialised once.
 */
export function createToolSelector(parts: {
  readonly buildTools: BuildTools;
  /** Offered to every tenant, after the tenant's own. */
  readonly extraTools: readonly Tool[];
}): SelectTools {
  const remembered = new WeakMap<readonly ToolRow[], Map<string, SelectedTools>>();
  const select: SelectTools = (rows, rules) => {
    const built = parts.buildTools(rows);
    const candidates = [...built.tools, ...parts.extraTools.map((tool) => ({ tool }))];
    const allowed = allowedTools(candidates, rules);
    return { toolset: createToolset(allowed.tools), warnings: [...built.warnings, ...allowed.warnings] };
  };
  return (rows, rules) => {
    const ofRows = remembered.get(rows) ?? new Map<string, SelectedTools>();
    remembered.set(rows, ofRows);
    const key = JSON.stringify([rules.tier, rules.allowList]);
    const selected = ofRows.get(key) ?? select(rows, rules);
    if (ofRows.size >= REMEMBERED_RULES) ofRows.clear();
    ofRows.set(key, selected);
    return selected;
  };
}

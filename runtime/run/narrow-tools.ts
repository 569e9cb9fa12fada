import type { StepRecord } from '../contracts/ledger/journal';
import type { Tool, Toolset } from '../contracts/tools/tool';
import { createToolset } from '../tools/combine-toolsets';
import { LOAD_SKILL } from '../toolsets/skill-source';

/**
 * Returns the toolset of a step: what the skill that was loaded last has left of `all`. The same object while that is the same.
 */
export function createNarrowing(all: Toolset): (steps: readonly StepRecord[]) => Toolset {
  // When the run has no skills any more, the name may be that of another tool.
  const found = (name: string): Tool | undefined => {
    const tool = all.find(name);
    return name === LOAD_SKILL && tool?.loadsSkills !== true ? undefined : tool;
  };
  let left: { readonly key: string; readonly toolset: Toolset } | undefined;
  return (steps) => {
    const names = nextTools(steps);
    if (names === 'all') return all;
    const key = JSON.stringify(names);
    if (left?.key !== key) left = { key, toolset: createToolset(names.flatMap((name) => found(name) ?? [])) };
    return left.toolset;
  };
}

function nextTools(steps: readonly StepRecord[]): readonly string[] | 'all' {
  const loads = steps.flatMap(({ toolCalls }) => toolCalls.filter(({ tool }) => tool === LOAD_SKILL));
  return loads.findLast(({ outcome }) => outcome?.nextTools !== undefined)?.outcome?.nextTools ?? 'all';
}

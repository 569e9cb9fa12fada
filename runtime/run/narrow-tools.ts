import type { StepRecord } from '../contracts/ledger/journal';
import type { Toolset } from '../contracts/tools/tool';
import { createToolset } from '../tools/combine-toolsets';

/**
 * Returns the toolset of a step: what the last call that said so, such as the loading of a skill, has left of `all`. The same object
 * while that is the same.
 */
export function createNarrowing(all: Toolset): (steps: readonly StepRecord[]) => Toolset {
  let left: { readonly key: string; readonly toolset: Toolset } | undefined;
  return (steps) => {
    const names = nextTools(steps);
    if (names === 'all') return all;
    const key = JSON.stringify(names);
    if (left?.key !== key) left = { key, toolset: createToolset(names.flatMap((name) => all.find(name) ?? [])) };
    return left.toolset;
  };
}

function nextTools(steps: readonly StepRecord[]): readonly string[] | 'all' {
  const outcomes = steps.flatMap(({ toolCalls }) => toolCalls.map(({ outcome }) => outcome));
  return outcomes.findLast((outcome) => outcome?.nextTools !== undefined)?.nextTools ?? 'all';
}

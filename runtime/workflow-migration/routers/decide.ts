import type { Reason, RouterOutput, WorkflowNode } from '../contract';
import { allOf, anyOf, not, type Test } from './test-expressions';

/** One way to an agent: the output that is linked to it, and the tests of every router on the way. */
export interface Entry {
  readonly agent: WorkflowNode;
  readonly from: RouterOutput;
  readonly path: readonly PathTest[];
}

export interface PathTest {
  readonly router: WorkflowNode;
  readonly test: Test;
}

export type BranchDecision =
  | { readonly kind: 'decided'; readonly choices: readonly Choice[] }
  /** A test that is needed and cannot be written down. */
  | { readonly kind: 'undecided'; readonly router: WorkflowNode; readonly why: Reason };

export interface Choice {
  readonly agent: WorkflowNode;
  readonly from: readonly RouterOutput[];
  readonly when?: string;
}

/**
 * Turns the ways to the agents, in the order in which the routers decide, into one choice for each agent. The agent of
 * the last way is asked for last and needs no test. One that several ways lead to must not take an item that an agent
 * asked for later takes by an earlier way.
 */
export function decide(entries: readonly Entry[]): BranchDecision {
  const last = entries.at(-1)?.agent;
  const agents = [...new Set(entries.map((entry) => entry.agent))].filter((agent) => agent !== last);
  if (last !== undefined) agents.push(last);
  const order = new Map(agents.map((agent, index) => [agent, index]));
  const isLater = (one: WorkflowNode, other: WorkflowNode): boolean => (order.get(one) ?? 0) > (order.get(other) ?? 0);
  const choices: Choice[] = [];
  for (const agent of agents) {
    const own = entries.filter((entry) => entry.agent === agent);
    const from = own.map((entry) => entry.from);
    if (agent === last) {
      choices.push({ agent, from });
      continue;
    }
    const rivals = (entry: Entry): readonly Entry[] =>
      entries.slice(0, entries.indexOf(entry)).filter((other) => isLater(other.agent, agent));
    // What the router tested before comes first: what it tested later may fail on an item that never got there.
    const needed = own.flatMap((entry) => [...entry.path, ...rivals(entry).flatMap((rival) => rival.path)]);
    for (const { router, test } of needed) {
      if (test.kind === 'unknown') return { kind: 'undecided', router, why: test.why };
    }
    const test = anyOf(own.map((entry) => allOf([...rivals(entry).map((one) => not(pathTest(one))), pathTest(entry)])));
    choices.push({ agent, from, when: test.kind === 'js' ? test.js : 'true' });
  }
  return { kind: 'decided', choices };
}

function pathTest(entry: Entry): Test {
  return allOf(entry.path.map(({ test }) => test));
}

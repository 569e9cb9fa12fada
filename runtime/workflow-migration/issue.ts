import type { Cluster, LeftAgent, MigrationOptions, Note } from './contract';
import { showName } from './show-name';

/** Something that the new node does otherwise, or cannot do. Without an allowance it cannot be accepted. */
export interface Issue extends Omit<LeftAgent, 'node'> {
  /** The node that it is about; the agents of the cluster, when it is about all of them. */
  readonly node?: string;
}

/** What stands in the way, and what was accepted by name and becomes a note. */
export function judgeIssues(
  issues: readonly Issue[],
  cluster: Cluster,
  options: MigrationOptions,
): { readonly left: readonly LeftAgent[]; readonly notes: readonly Note[] } {
  const isAllowed = ({ allowance }: Issue): boolean => allowance !== undefined && options.allow.includes(allowance);
  const agents = agentNames(cluster);
  const first = agents[0] ?? '';
  const ofIssue = ({ node }: Issue): readonly string[] =>
    node !== undefined && agents.includes(node) ? [node] : agents;
  const left = issues
    .filter((issue) => !isAllowed(issue))
    .flatMap((issue) =>
      ofIssue(issue).map((node): LeftAgent => {
        const { reason, text, allowance } = issue;
        return { node, reason, text, ...(allowance === undefined ? {} : { allowance }) };
      }),
    );
  return {
    left: [...left, ...leftWithOthers(left, agents)],
    notes: issues.filter(isAllowed).map(({ node, text, allowance }) => ({ node: node ?? first, text, allowance })),
  };
}

/** Each agent once: behind a Model Selector all branches have the same one. */
export function agentNames(cluster: Cluster): readonly string[] {
  return [...new Set(cluster.branches.map(({ agent }) => agent.name))];
}

/** An agent in whose branch nothing stands in the way is left because of the others. */
function leftWithOthers(left: readonly LeftAgent[], agents: readonly string[]): readonly LeftAgent[] {
  const [first] = left;
  const named = new Set(left.map(({ node }) => node));
  if (first === undefined) return [];
  return agents
    .filter((agent) => !named.has(agent))
    .map((node) => ({ ...first, node, text: `It goes with ${showName(first.node)}. ${first.text}` }));
}

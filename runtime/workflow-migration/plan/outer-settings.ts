import type { JsonValue } from '../../util/json';
import { words } from '../../util/text/words';
import type { Cluster, WorkflowNode } from '../contract';
import { isSame } from '../expressions/merge-values';
import type { Graph } from '../graph';
import type { Issue } from '../issue';

/** Settings of a node that say what happens when it fails, and how often it runs. */
const ERROR_SETTINGS = words(`
  onError retryOnFail maxTries waitBetweenTries continueOnFail alwaysOutputData executeOnce
`);

/** What the new node has beside its parameters; false means the same as nothing. */
export function errorSettingsOf(agent: WorkflowNode): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    ERROR_SETTINGS.map((name) => [name, agent[name] as JsonValue | undefined]).filter(
      (entry): entry is [string, JsonValue] => entry[1] !== undefined && entry[1] !== false,
    ),
  );
}

/** Everything around the agents that has to be the same before one node can stand in their place. */
export function outerIssues({ branches }: Cluster, graph: Graph): readonly Issue[] {
  const agents = branches.map(({ agent }) => agent);
  const first = agents[0];
  if (first === undefined) return [];
  const differ = (value: (agent: WorkflowNode) => JsonValue): boolean =>
    agents.some((agent) => !isSame(value(agent), value(first)));
  const issues: Issue[] = [];
  if (differ((agent) => nextOf(agent, graph))) {
    issues.push({
      reason: 'different-next-nodes',
      text: 'The branches go on to different nodes, or to different inputs of one. Let them come together right behind the agents, and branch again later.',
    });
  }
  if (differ(errorSettingsOf)) {
    issues.push({
      reason: 'error-settings',
      text: 'The branches have different settings for errors and repetitions. Make them the same first.',
    });
  }
  return issues;
}

/** Where the agent's outputs lead to; a link from an agent to one of the others counts like any other. */
function nextOf(agent: WorkflowNode, graph: Graph): JsonValue {
  return graph
    .outOf(agent, 'main')
    .map(({ output, to, index }) => JSON.stringify([output, to.name, index]))
    .toSorted();
}

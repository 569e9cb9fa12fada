import type { JsonValue } from '../../util/json';
import { disabledParts } from '../attachments';
import type { PlanContext } from '../context';
import type { Cluster, ClusterPlan, MergePlan, Note, Workflow, WorkflowNode } from '../contract';
import { agentNames, type Issue, judgeIssues } from '../issue';
import { parameterAt } from '../parameters';
import { v3Flag } from '../v3-rules';
import { canTellRuns, streamsAnswers } from './later-nodes';
import { linkIssues } from './link-issues';
import { newNode, takeName } from './new-node';
import { outerIssues } from './outer-settings';
import { ownNotes } from './own-notes';
import { type NodeParts, planParts } from './plan-parts';
import { readAgent } from './read-agent';
import { referenceIssues } from './reference-issues';

/** One new node for the agents of a cluster, or why not. */
export function planCluster(cluster: Cluster, context: PlanContext): ClusterPlan {
  const { workflow, options, graph } = context;
  if (cluster.alone?.reason === 'disabled') return leave(cluster, [{ ...cluster.alone }], context);
  if (options.v3 === true && !cluster.branches.some(({ agent }) => v3Flag(agent) !== undefined)) {
    return leave(cluster, [RUNS_IN_V3], context);
  }
  const settings = cluster.branches.map(({ agent }) => readAgent(agent));
  const parts = planParts(cluster, settings, context);
  const streams = readStreams(cluster, workflow);
  const isStreamed = streams.length > 1 ? true : streams[0];
  const node = newNode({
    cluster,
    parts,
    name: takeName(cluster, context.names),
    options,
    isStreamed,
    ids: context.ids,
  });
  const issues = [
    ...linkIssues(cluster, workflow),
    ...outerIssues(cluster, graph),
    ...settings.flatMap((one) => one.issues).filter(isFirstOfItsKind),
    ...streamingIssues(parts, streams),
    ...parts.model.issues,
    ...parts.memory.issues,
    ...parts.parser.issues,
    ...parts.tools.issues,
    ...parts.issues,
    ...referenceIssues(cluster, connectedNames(parts), context),
  ];
  const judged = judgeIssues(issues, cluster, options);
  if (judged.left.length > 0) return { kind: 'leave', cluster, left: judged.left };
  context.names.add(node.name);
  context.ids.add(node.id ?? '');
  return merge({ cluster, parts, node, notes: judged.notes }, context);
}

const RUNS_IN_V3: Issue = {
  reason: 'runs-in-v3',
  text: 'n8n 3 runs it as it is. Migrate without --v3 to have one node for it too.',
};

/** Behind a Model Selector every branch has the same agent. */
function isFirstOfItsKind(issue: Issue, index: number, all: readonly Issue[]): boolean {
  return all.findIndex((other) => other.node === issue.node && other.text === issue.text) === index;
}

/** What each branch says on whether the answer is shown while the model writes it; nothing where no trigger would. */
function readStreams({ branches }: Cluster, { nodes }: Workflow): readonly JsonValue[] {
  if (!nodes.some(streamsAnswers)) return [];
  const all = branches.map(({ agent }) =>
    agent.typeVersion >= 2.1 ? (parameterAt(agent.parameters, 'options.enableStreaming') ?? true) : false,
  );
  return [...new Set(all)];
}

function streamingIssues({ model }: NodeParts, streams: readonly JsonValue[]): readonly Issue[] {
  const issue = (text: string): readonly Issue[] => [{ reason: 'streaming', text, allowance: 'dropped-options' }];
  if (streams.length > 1) return issue('The branches differ in whether the answer is streamed: all of it would be.');
  if (model.connected.length === 0 || streams.every((one) => one === false)) return [];
  return issue('Its model stays connected, and gives its answer as a whole: it is no longer streamed.');
}

function leave(cluster: Cluster, issues: readonly Issue[], { options }: PlanContext): ClusterPlan {
  return { kind: 'leave', cluster, left: judgeIssues(issues, cluster, options).left };
}

function connectedNames({ model, memory, parser, tools }: NodeParts): ReadonlySet<string> {
  const nodes = [...model.connected, memory.connected, parser.connected, ...tools.connected];
  return new Set(nodes.flatMap((node) => (node === undefined ? [] : [node.name])));
}

interface MergeRequest {
  readonly cluster: Cluster;
  readonly parts: NodeParts;
  readonly node: WorkflowNode;
  readonly notes: readonly Note[];
}

function merge({ cluster, parts, node, notes }: MergeRequest, context: PlanContext): ClusterPlan {
  const { workflow, graph, options } = context;
  const { model, memory, tools } = parts;
  for (const { code, node: tool } of tools.rows) context.codes.set(code, tool);
  const isLone = agentNames(cluster).length === 1;
  const mayMergeRuns = options.allow.includes('merged-runs');
  const canTell = !isLone && canTellRuns(cluster, workflow, graph);
  const [first] = cluster.branches;
  const disabled = isLone && first !== undefined ? disabledParts(first.agent, graph) : [];
  return {
    kind: 'merge',
    cluster,
    node,
    connected: [...connectionsOf(parts), ...disabled.map((part) => ({ ...part, index: 0 }))],
    changed: memory.changed === undefined ? [] : [memory.changed],
    mergesRuns: !isLone && (!canTell || mayMergeRuns),
    statements: [...model.statements, ...tools.statements],
    report: {
      node: node.name,
      ...(cluster.router === undefined ? {} : { router: cluster.router.node.name }),
      agents: agentNames(cluster),
      removed: [],
      connected: [],
      unwired: [],
      tiers: model.tiers,
      tools: tools.rows,
    },
    notes: [...notes, ...ownNotes({ cluster, parts, node }, context), ...model.notes, ...tools.notes],
  };
}

function connectionsOf({ model, memory, parser, tools }: NodeParts): MergePlan['connected'] {
  return [model.connected, [memory.connected], [parser.connected], tools.connected].flatMap((nodes, kind) =>
    nodes.flatMap((from, index) =>
      from === undefined ? [] : [{ from: from.name, type: KINDS[kind] as string, index: kind === 0 ? index : 0 }],
    ),
  );
}

const KINDS = ['ai_languageModel', 'ai_memory', 'ai_outputParser', 'ai_tool'];

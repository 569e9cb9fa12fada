import { createHash } from 'node:crypto';

import type { JsonObject, JsonValue } from '../../util/json';
import type { Cluster, MigrationOptions, WorkflowNode } from '../contract';
import { agentNames } from '../issue';
import { withoutUndefined } from '../parameters';
import { errorSettingsOf } from './outer-settings';
import type { NodeParts } from './plan-parts';

const NODE_TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const NODE_VERSION = 4;
const NODE_NAME = 'Universal AI Agent';
/** An AI Agent has no time-out; this is the longest that the node takes. */
const LONGEST_SECONDS = 86_400;

interface NodeRequest {
  readonly cluster: Cluster;
  readonly parts: NodeParts;
  readonly name: string;
  readonly options: MigrationOptions;
  /** Undefined: nobody could see whether it is. */
  readonly isStreamed: JsonValue | undefined;
  /** Those of the nodes that there are. */
  readonly ids: ReadonlySet<string>;
}

/** A lone agent's own name, so that other nodes find it; else one that no node has. */
export function takeName(cluster: Cluster, taken: ReadonlySet<string>): string {
  const agents = agentNames(cluster);
  if (agents.length === 1) return agents[0] as string;
  let name = NODE_NAME;
  for (let number = 1; taken.has(name); number++) name = `${NODE_NAME} ${number}`;
  return name;
}

/** The node that stands for the agents, in the place of the one in the middle. */
export function newNode({ cluster, parts, name, options, isStreamed, ids }: NodeRequest): WorkflowNode {
  const agents = [...new Map(cluster.branches.map(({ agent }) => [agent.name, agent])).values()];
  const middle = agents[Math.floor((agents.length - 1) / 2)] as WorkflowNode;
  const lone = agents.length === 1 ? pickNotes(middle) : {};
  return {
    parameters: parametersOf(parts, options, isStreamed),
    id: idOf(agents, ids),
    name,
    type: NODE_TYPE,
    typeVersion: NODE_VERSION,
    position: middle.position,
    ...errorSettingsOf(middle),
    ...lone,
    ...credentialsOf(parts, options),
  };
}

/** Notes of one agent stay on its node; those of several go to the sticky note. */
function pickNotes({ notes, notesInFlow }: WorkflowNode): Readonly<Record<string, JsonValue>> {
  return withoutUndefined({ notes, notesInFlow: notesInFlow as JsonValue | undefined });
}

function parametersOf(parts: NodeParts, { tenant }: MigrationOptions, isStreamed: JsonValue | undefined): JsonObject {
  const { model, tools, parser } = parts;
  return withoutUndefined({
    tenantId: { __rl: true, mode: 'id', value: tenant },
    tier: model.tier,
    systemPrompt: parts.systemPrompt,
    message: parts.message,
    hasOutputParser: parser.hasOutputParser ? true : undefined,
    options: withoutUndefined({
      modelProvider: model.provider === 'openRouter' ? undefined : model.provider,
      maxIterations: parts.maxIterations,
      onMaxIterations: parts.onMaxIterations,
      ...model.options,
      timeoutSeconds: LONGEST_SECONDS,
      // Nodes behind it may take the whole item: a table, a chat, whoever called the workflow.
      outputDetails: 'never',
      enableStreaming: isStreamed === true ? undefined : isStreamed,
      tools: tools.allowed,
      useVaultKey: tools.needsVault ? true : undefined,
    }),
  });
}

function credentialsOf({ model }: NodeParts, { postgres }: MigrationOptions): Pick<WorkflowNode, 'credentials'> {
  const credentials = {
    ...(model.credential === undefined ? {} : { [model.credential.type]: model.credential.ref }),
    ...(postgres === undefined ? {} : { postgres }),
  };
  return Object.keys(credentials).length === 0 ? {} : { credentials };
}

function idOf(agents: readonly WorkflowNode[], taken: ReadonlySet<string>): string {
  const parts = ['node', ...agents.map(({ id, name }) => id ?? name)];
  let id = stableId(parts);
  for (let number = 1; taken.has(id); number++) id = stableId([...parts, String(number)]);
  return id;
}

/** A UUID that is the same for the same parts, so that a workflow that is migrated twice has the same nodes. */
export function stableId(parts: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const variant = ((parseInt(hex[16] as string, 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

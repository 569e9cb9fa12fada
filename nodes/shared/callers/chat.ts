import {
  CHAT_TRIGGER_NODE_TYPE,
  type IDataObject,
  type IExecuteFunctions,
  type INode,
  type Workflow,
} from 'n8n-workflow';

import { internals } from './engine-request';

/** Returns true since version 4, in which items and streams hold only what a customer may read. */
export const isForCustomers = ({ typeVersion }: Pick<INode, 'typeVersion'>): boolean => !(typeVersion <= 3);

/** The chat whose message started an execution. */
export interface Chat {
  /** Form of n8n's answer to the chat: an item of the workflow, chunks, or messages of Chat nodes; `agent` if the node is a tool. */
  readonly answeredBy: 'item' | 'chunks' | 'nodes' | 'agent';
}

const ANSWERS: Readonly<Record<string, Chat['answeredBy']>> = { streaming: 'chunks', responseNodes: 'nodes' };

/**
 * Finds the Chat Trigger that started the execution, among those before the node, or before the agent that calls it as a tool.
 * Undefined in any other execution; a sub-workflow does not see the trigger of its caller.
 */
export function findChat(context: IExecuteFunctions): Chat | undefined {
  if (context.getChatTrigger() === null) return undefined;
  const { workflow } = internals(context);
  const { name, type } = context.getNode();
  const agents = type.endsWith('Tool') ? workflow.getChildNodes(name, 'ALL_NON_MAIN') : [];
  const { $ } = context.getWorkflowDataProxy(0) as { readonly $: (node: string) => { readonly isExecuted: boolean } };
  const trigger = nodesBefore(workflow, [name, ...agents]).find(
    (node) => node.type === CHAT_TRIGGER_NODE_TYPE && $(node.name).isExecuted,
  );
  if (trigger === undefined) return undefined;
  if (agents.length > 0) return { answeredBy: 'agent' };
  const { options, availableInChat } = trigger.parameters as IDataObject;
  const standard = availableInChat === true ? 'streaming' : 'lastNode';
  const { responseMode = standard } = (options ?? {}) as { readonly responseMode?: string };
  return { answeredBy: ANSWERS[responseMode] ?? 'item' };
}

/** All nodes from which a main connection leads to one of these. n8n's own walk visits a dense graph many times, and fails on missing nodes. */
function nodesBefore(
  { connectionsByDestinationNode: links, nodes }: Workflow,
  names: readonly string[],
): readonly INode[] {
  const found = new Set(names);
  // What is added while the set is walked is visited too.
  for (const name of found) {
    for (const one of (links[name]?.main ?? []).flatMap((input) => input ?? [])) found.add(one.node);
  }
  return [...found].flatMap((name) => nodes[name] ?? []);
}

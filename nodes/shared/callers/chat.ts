import { CHAT_TRIGGER_NODE_TYPE, type IDataObject, type IExecuteFunctions } from 'n8n-workflow';

import { internals } from './engine-request';

/** The chat whose message started an execution. */
export interface Chat {
  /** What n8n answers the chat with: an item of the workflow, chunks, or messages of Chat nodes. For a tool it is none of these. */
  readonly answeredBy: 'item' | 'chunks' | 'nodes' | 'agent';
}

const ANSWERS: Readonly<Record<string, Chat['answeredBy']>> = { streaming: 'chunks', responseNodes: 'nodes' };

/**
 * Finds the Chat Trigger that started the execution, among those before the node, or before the agent that calls it as a tool.
 * Undefined in any other execution; a sub-workflow does not see the trigger of its caller.
 */
export function findChat(context: IExecuteFunctions): Chat | undefined {
  const { name, type } = context.getNode();
  const agents = type.endsWith('Tool') ? internals(context).workflow.getChildNodes(name, 'ALL_NON_MAIN') : [];
  const triggers = [name, ...agents]
    .flatMap((one) => context.getParentNodes(one, { includeNodeParameters: true }))
    .filter((parent) => parent.type === CHAT_TRIGGER_NODE_TYPE);
  if (triggers.length === 0) return undefined;
  const { $ } = context.getWorkflowDataProxy(0) as { readonly $: (node: string) => { readonly isExecuted: boolean } };
  const trigger = triggers.find((one) => $(one.name).isExecuted);
  if (trigger === undefined) return undefined;
  if (agents.length > 0) return { answeredBy: 'agent' };
  const { options, availableInChat } = (trigger.parameters ?? {}) as IDataObject;
  const standard = availableInChat === true ? 'streaming' : 'lastNode';
  const { responseMode = standard } = (options ?? {}) as { readonly responseMode?: string };
  return { answeredBy: ANSWERS[responseMode] ?? 'item' };
}

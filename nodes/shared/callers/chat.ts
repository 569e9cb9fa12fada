import { CHAT_TRIGGER_NODE_TYPE, type IDataObject, type IExecuteFunctions } from 'n8n-workflow';

import { internals } from './engine-request';

/** The chat whose message started an execution. */
export interface Chat {
  /** True if n8n answers the chat with an item of the workflow; false if it streams, or Chat nodes answer. */
  readonly getsItem: boolean;
}

/** Response modes in which no item reaches the chat. */
const WITHOUT_ITEM: readonly unknown[] = ['streaming', 'responseNodes'];

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
  const { options, availableInChat } = (trigger.parameters ?? {}) as IDataObject;
  const mode =
    (options as IDataObject | undefined)?.responseMode ?? (availableInChat === true ? 'streaming' : 'lastNode');
  return { getsItem: !WITHOUT_ITEM.includes(mode) };
}

import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import type { Chat } from './callers/chat';

export type Library = typeof RuntimeLibrary;

/** One item of an execution. */
export interface Item {
  readonly context: IExecuteFunctions;
  readonly library: Library;
  readonly index: number;
  /** The chat that started the execution. */
  readonly chat?: Chat;
  /** Is told of a run piece by piece. */
  readonly onEvent?: RuntimeLibrary.OnEvent;
}

/** The same, with the parameter `options`, which is read once. */
export interface TaskItem extends Item {
  readonly options: IDataObject;
}

export interface ItemOutcome {
  readonly item: INodeExecutionData;
  readonly warnings: RuntimeLibrary.AgentResult['warnings'];
  /** True for a message of a chat that the agent will not remember. */
  readonly isForgotten?: boolean;
}

/** Rejects with a RuntimeError, or with an error of n8n. */
export type Operation = (item: Item) => Promise<ItemOutcome>;

export function withOptions(item: Item): TaskItem {
  return { ...item, options: item.context.getNodeParameter('options', item.index, {}) };
}

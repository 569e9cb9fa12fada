import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type * as RuntimeDoor from '../../runtime';

export type Door = typeof RuntimeDoor;

/** One item of an execution. */
export interface Item {
  readonly context: IExecuteFunctions;
  readonly door: Door;
  readonly index: number;
}

/** The same, with the parameter `options`, which is read once. */
export interface TaskItem extends Item {
  readonly options: IDataObject;
}

export interface ItemOutcome {
  readonly item: INodeExecutionData;
  readonly warnings: RuntimeDoor.AgentResult['warnings'];
}

/** Rejects with a RuntimeError, or with an error of n8n. */
export type Operation = (item: Item) => Promise<ItemOutcome>;

export function withOptions(item: Item): TaskItem {
  return { ...item, options: item.context.getNodeParameter('options', item.index, {}) };
}

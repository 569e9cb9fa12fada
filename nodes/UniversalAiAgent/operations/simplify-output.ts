import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

/** Whether an item is to hold what n8n's AI Agent gives, and nothing of the bill. */
export function isSimplified(context: IExecuteFunctions, itemIndex: number): boolean {
  try {
    return context.getNodeParameter('options.simplifyOutput', itemIndex, false) === true;
  } catch {
    // An expression that fails; the item has failed of it already.
    return false;
  }
}

export function simplifyOutput(item: INodeExecutionData): INodeExecutionData {
  return { ...item, json: { output: item.json.output } };
}

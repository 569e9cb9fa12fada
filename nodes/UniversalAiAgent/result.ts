import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import type { AgentResult } from '../../runtime';

/** The result as an item: all of it, `output` for chat and `tokenUsage` for n8n's Logs panel, which adds these up. */
export function toItem(result: AgentResult, itemIndex: number): INodeExecutionData {
  return { json: toJson(result), pairedItem: { item: itemIndex } };
}

export function toJson(result: AgentResult): IDataObject {
  const { tokens } = result;
  // A replayed result cost nothing in this execution.
  const spent = result.replayed === true ? { prompt: 0, completion: 0, total: 0 } : tokens;
  return {
    output: result.result.text,
    ...(result as unknown as IDataObject),
    tokenUsage: { promptTokens: spent.prompt, completionTokens: spent.completion, totalTokens: spent.total },
  };
}

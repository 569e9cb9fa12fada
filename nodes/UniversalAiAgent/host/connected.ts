import { type INodeTypeDescription, NodeConnectionTypes } from 'n8n-workflow';

import type { Connected } from '../../../runtime/host';
import type { Item } from '../../shared/item';
import { isToolVariant } from '../read/tool-variant';
import { readConnectedMemory } from './connected-memory';
import { readConnectedModels } from './connected-model';
import { readConnectedTools } from './connected-tools';
import { readOutputFormat } from './output-format';

const model = {
  type: NodeConnectionTypes.AiLanguageModel,
  ...{ required: false, maxConnections: 1 },
  // The agent asks the models of its tenant itself.
  filter: { excludedNodes: ['n8n-nodes-universal-ai-agent.tenantModel'] },
};

/** What may be wired to the node. A plain list, since n8n would evaluate an expression in every execution. */
export const inputs: INodeTypeDescription['inputs'] = [
  NodeConnectionTypes.Main,
  { ...model, displayName: 'Model' },
  { ...model, displayName: 'Fallback' },
  // Between the two longest labels, which would touch.
  { type: NodeConnectionTypes.AiTool, displayName: 'Tools', required: false },
  { type: NodeConnectionTypes.AiMemory, displayName: 'Memory', required: false, maxConnections: 1 },
  { type: NodeConnectionTypes.AiOutputParser, displayName: 'Parser', required: false, maxConnections: 1 },
];

/** What is wired to the node, with the parameters of this item. */
export async function readConnected(item: Item): Promise<Connected> {
  const format = readOutputFormat(item);
  if (isToolVariant(item.context)) return withFormat({}, await format);
  const [models, memory, tools, form] = await Promise.all([
    readConnectedModels(item),
    readConnectedMemory(item),
    readConnectedTools(item),
    format,
  ]);
  return withFormat({ ...models, ...(memory === undefined ? {} : { memory }), tools }, form);
}

function withFormat(connected: Connected, format: Connected['format']): Connected {
  return format === undefined ? connected : { ...connected, format };
}

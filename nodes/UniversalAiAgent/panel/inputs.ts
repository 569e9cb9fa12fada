import { type INodeTypeDescription, NodeConnectionTypes } from 'n8n-workflow';

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

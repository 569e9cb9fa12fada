/** n8n's own AI Agent. */
export const AGENT_TYPE = '@n8n/n8n-nodes-langchain.agent';

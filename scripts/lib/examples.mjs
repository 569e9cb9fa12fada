import { readFileSync } from 'node:fs';
import path from 'node:path';

import { root } from './run-steps.mjs';

const OURS = 'n8n-nodes-universal-ai-agent.universalAiAgent';

/** Examples name no credentials, since every n8n has its own. These are the ones that a node of this type takes. */
const CREDENTIALS_OF = {
  [OURS]: ['openRouterApi', 'postgres', 'redis'],
  [`${OURS}Trigger`]: ['redis'],
  [`${OURS}Admin`]: ['openRouterApi', 'postgres'],
  'n8n-nodes-universal-ai-agent.tenantModel': ['openRouterApi', 'postgres'],
  'n8n-nodes-universal-ai-agent.tenantTools': ['postgres'],
  '@n8n/n8n-nodes-langchain.mcpTrigger': ['httpBearerAuth'],
  'n8n-nodes-base.telegram': ['telegramApi'],
  'n8n-nodes-base.telegramTrigger': ['telegramApi'],
  'n8n-nodes-base.slack': ['slackApi'],
  'n8n-nodes-base.slackTrigger': ['slackApi'],
  'n8n-nodes-base.discord': ['discordBotApi'],
  'n8n-nodes-base.postgres': ['postgres'],
  'n8n-nodes-base.emailSend': ['smtp'],
};

/**
 * A file of examples/workflows, set up as its note says: with the credentials that there are.
 * @param {string} file
 * @param {Record<string, { id: string, name: string }>} credentials by their type
 * @returns {{ name: string, nodes: any[], connections: object } & Record<string, unknown>}
 */
export function readExample(file, credentials) {
  const workflow = JSON.parse(readFileSync(path.join(root, 'examples/workflows', file), 'utf8'));
  const nodes = workflow.nodes.map((node) => {
    const taken = (CREDENTIALS_OF[node.type] ?? []).filter((type) => credentials[type] !== undefined);
    if (taken.length === 0) return node;
    return { ...node, credentials: Object.fromEntries(taken.map((type) => [type, credentials[type]])) };
  });
  return { ...workflow, nodes };
}

// The workflows, as n8n exports them. All start with the same webhook and answer with what the last node gives.
import { MODEL_ID, SYSTEM_PROMPT } from '../loop/scenario.mjs';
import { fiveBranches, tierSwitch } from './five-branches.mjs';
import { BARE_LOOP_PACKAGE, TIERS, tools } from './subjects.mjs';

const NO_OPERATION = { name: 'End', type: 'n8n-nodes-base.noOp', typeVersion: 1 };
const AGENT = { name: 'Agent', type: 'n8n-nodes-universal-ai-agent.universalAiAgent', typeVersion: 4 };

/** Each subject's nodes after the webhook, and the connections between them. */
const builders = {
  empty: () => chain(NO_OPERATION),
  switch: () => ({
    nodes: [tierSwitch(), NO_OPERATION],
    connections: { Webhook: main('Switch'), Switch: { main: TIERS.map(() => [target('End')]) } },
  }),
  'five-branches': fiveBranches,
  'one-node': ({ credentials }) => chain({ ...AGENT, parameters: fields(), credentials }),
  'one-node-streamed': ({ credentials }) => chain({ ...AGENT, parameters: fields(), credentials }),
  'one-node-item': ({ credentials }) =>
    chain(
      {
        name: 'Task',
        type: 'n8n-nodes-base.splitOut',
        typeVersion: 1,
        parameters: { fieldToSplitOut: 'body.items', options: {} },
      },
      { ...AGENT, parameters: { options: { inputMode: 'item' } }, credentials },
    ),
  'bare-loop': (stack) => chain(bareLoop(stack)),
  'bare-loop-credentials': (stack) => chain({ ...bareLoop(stack), credentials: stack.credentials }),
};

/**
 * @param {string} subject
 * @param {{ credentials: object, modelUrl: string, toolUrl: string }} stack
 */
export function workflowOf(subject, stack) {
  const { nodes, connections } = builders[subject](stack);
  return {
    name: subject,
    nodes: [webhook(subject), ...nodes].map((node, index) => ({
      id: `${subject}-${index}`,
      position: [200 * index, 0],
      parameters: {},
      ...node,
    })),
    connections,
    // Saving, pruning and everything else stay as n8n has them by default: each execution is stored with its data.
    settings: { executionOrder: 'v1' },
  };
}

function webhook(path) {
  const responseMode = path === 'one-node-streamed' ? 'streaming' : 'lastNode';
  const parameters = { httpMethod: 'POST', path, responseMode, options: {} };
  return { name: 'Webhook', type: 'n8n-nodes-base.webhook', typeVersion: 2.1, webhookId: path, parameters };
}

function fields() {
  return {
    tenantId: { __rl: true, mode: 'id', value: '={{ $json.body.tenant }}' },
    tier: '={{ $json.body.tier }}',
    systemPrompt: SYSTEM_PROMPT,
    message: '={{ $json.body.message }}',
    options: {},
  };
}

function bareLoop({ modelUrl, toolUrl }) {
  const functions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  const parameters = {
    modelUrl,
    toolUrl,
    model: MODEL_ID,
    tools: JSON.stringify(functions),
    systemPrompt: SYSTEM_PROMPT,
    message: '={{ $json.body.message }}',
  };
  return { name: 'Loop', type: `${BARE_LOOP_PACKAGE}.bareLoop`, typeVersion: 1, parameters };
}

function chain(...nodes) {
  const names = ['Webhook', ...nodes.map(({ name }) => name)];
  const links = names.slice(1).map((name, index) => [names[index], main(name)]);
  return { nodes, connections: Object.fromEntries(links) };
}

const target = (node) => ({ node, type: 'main', index: 0 });
const main = (node) => ({ main: [[target(node)]] });

// What the demo puts into n8n, beside the example workflows.

import { readExample } from '../examples.mjs';

const AGENT = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const LANGCHAIN = '@n8n/n8n-nodes-langchain';
const PROMPT = 'You are the assistant of a small company. Be brief.';

/** Answers a webhook's `{tasks: [{task_id?, config, meta}]}` with one item a task, failed ones too. */
export function taskWorkflow(credentials) {
  return workflow('Demo: tasks', [
    node('Webhook', 'n8n-nodes-base.webhook', {
      typeVersion: 2.1,
      webhookId: 'demo-tasks',
      parameters: { httpMethod: 'POST', path: 'demo-tasks', responseMode: 'lastNode', responseData: 'allEntries' },
      to: { main: ['Tasks'] },
    }),
    node('Tasks', 'n8n-nodes-base.splitOut', {
      parameters: { fieldToSplitOut: 'body.tasks', options: {} },
      to: { main: ['Universal AI Agent'] },
    }),
    node('Universal AI Agent', AGENT, {
      typeVersion: 4,
      parameters: { options: { inputMode: 'item' } },
      credentials,
      onError: 'continueRegularOutput',
    }),
  ]);
}

/** A chat with memory, for a person. */
export function chatWorkflow(credentials, tenant) {
  return workflow('Chat with memory (Universal AI Agent)', [
    chat('Universal AI Agent', 'demo-chat'),
    node('Universal AI Agent', AGENT, {
      typeVersion: 4,
      onError: 'continueRegularOutput',
      parameters: {
        tenantId: { __rl: true, mode: 'list', value: tenant.id, cachedResultName: tenant.name },
        tier: 'pro',
        systemPrompt: PROMPT,
      },
      credentials,
    }),
    memory('Universal AI Agent', tenant.id),
    note(
      260,
      `## Ask something\nOpen the chat below and send\n\n- Which orders does Ada have?\n- When are they delivered to Oslo?\n- What did I ask before?\n\nThe tools are rows of ${tenant.name} in Postgres: none is connected here. Change *Tenant* to Demo travel, and ask for Ada's trips.`,
    ),
  ]);
}

/** The template of a chat that waits for a person, for a tenant with a tool that needs one. */
export function approvalWorkflow(credentials, { id, name }) {
  const workflow = readExample('chat-with-approval.json', credentials);
  const tenantId = { __rl: true, mode: 'list', value: id, cachedResultName: name };
  // The tool's own row asks for a person.
  const options = { outputDetails: 'always' };
  const nodes = workflow.nodes.map((one) =>
    one.type === AGENT ? { ...one, parameters: { ...one.parameters, tenantId, tier: 'pro', options } } : one,
  );
  return { ...workflow, nodes };
}

/** The chat with memory with n8n's own agent: a model, a memory and each tool connected by hand. */
export function n8nAgentWorkflow(credentials, mcpUrl) {
  const agent = "n8n's AI Agent";
  return workflow("Chat with n8n's own AI Agent", [
    chat(agent, 'demo-chat-n8n'),
    node(agent, `${LANGCHAIN}.agent`, { typeVersion: 3.1, parameters: { options: { systemMessage: PROMPT } } }),
    node('Model', `${LANGCHAIN}.lmChatOpenRouter`, {
      position: [120, 260],
      parameters: { model: 'openai/gpt-4o-mini', options: {} },
      credentials: { openRouterApi: credentials.openRouterApi },
      to: { ai_languageModel: [agent] },
    }),
    memory(agent, 'n8n'),
    node('MCP Client', `${LANGCHAIN}.mcpClientTool`, {
      typeVersion: 1.2,
      position: [440, 260],
      parameters: { endpointUrl: mcpUrl, serverTransport: 'httpStreamable' },
      to: { ai_tool: [agent] },
    }),
    note(
      240,
      '## To compare\nOne tenant, one model; the tools are those that are connected. Ask\n\n- When is it delivered to Oslo?\n- What did I ask before?\n\nNeither cost nor budget is known here.',
    ),
  ]);
}

/** An export with one AI Agent a tier, with a credential that this n8n has, and an item to try it with. */
export function withOwnCredential(exported, { openRouterApi }) {
  const nodes = exported.nodes.map((one) =>
    one.credentials === undefined ? one : { ...one, credentials: { openRouterApi } },
  );
  return {
    ...exported,
    nodes,
    pinData: { Start: [{ json: { tier: 'pro', message: 'Which orders does Ada have?' } }] },
  };
}

function chat(agent, webhookId) {
  return node('Chat', `${LANGCHAIN}.chatTrigger`, { typeVersion: 1.4, webhookId, to: { main: [agent] } });
}

/** The key begins with the tenant, so that two tenants never share a conversation. */
function memory(agent, prefix) {
  return node('Simple Memory', `${LANGCHAIN}.memoryBufferWindow`, {
    typeVersion: 1.3,
    position: [280, 260],
    parameters: {
      sessionIdType: 'customKey',
      sessionKey: `=${prefix}:{{ $('Chat').item.json.sessionId }}`,
      contextWindowLength: 10,
    },
    to: { ai_memory: [agent] },
  });
}

function note(height, content) {
  return node('Note', 'n8n-nodes-base.stickyNote', {
    position: [-40, -60 - height],
    parameters: { content, height, width: 460 },
  });
}

function node(name, type, { to = {}, ...more } = {}) {
  return { node: { id: name, name, type, typeVersion: 1, parameters: {}, ...more }, to };
}

/** From left to right, but for nodes with a place of their own. */
function workflow(name, parts) {
  const nodes = parts.map((part, index) => ({ position: [index * 240, 0], ...part.node }));
  const connections = parts
    .filter(({ to }) => Object.keys(to).length > 0)
    .map(({ node: { name: from }, to }) => [from, Object.fromEntries(Object.entries(to).map(connection))]);
  return { name, nodes, connections: Object.fromEntries(connections), settings: { executionOrder: 'v1' } };
}

const connection = ([type, names]) => [type, [names.map((name) => ({ node: name, type, index: 0 }))]];

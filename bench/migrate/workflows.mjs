// Workflows such as builders have: five branches behind a Switch with memory and tools, a lone agent, none at all.
import { fiveBranches } from '../n8n/five-branches.mjs';

const CREDENTIALS = { openRouterApi: { id: 'openrouter-1', name: 'OpenRouter' } };

/** @param {number} index */
export function workflow(index) {
  const kinds = [branches, loneAgent, withoutAgent, branches];
  const { nodes, connections } = kinds[index % kinds.length](index);
  return {
    name: `Workflow ${index}`,
    nodes: nodes.map((node, place) => ({
      id: `${index}-${place}`,
      position: [200 * (place % 10), 150 * Math.floor(place / 10)],
      ...node,
    })),
    connections,
    settings: { executionOrder: 'v1' },
    pinData: {},
    meta: { instanceId: 'bench' },
  };
}

function branches() {
  const five = fiveBranches({ credentials: CREDENTIALS, toolUrl: 'https://tools.example.com/hook' });
  const agents = five.nodes.filter(({ type }) => type.endsWith('.agent')).map(({ name }) => name);
  const forAll = (type) => ({ [type]: [agents.map((name) => ({ node: name, type, index: 0 }))] });
  // One set of tools for all branches: sets that differ have to stay branches.
  const tools = five.nodes.filter(({ type, name }) => type.endsWith('Tool') && name.endsWith('_nano'));
  const others = five.nodes.filter(({ type }) => !type.endsWith('Tool'));
  const memory = node('Memory', '@n8n/n8n-nodes-langchain.memoryBufferWindow', 1.3);
  const entries = [
    ...Object.entries(five.connections).filter(([name]) => others.some((other) => other.name === name)),
    ...tools.map(({ name }) => [name, forAll('ai_tool')]),
    ...agents.map((name) => [name, main('Answer')]),
    ['Webhook', main('Switch')],
    ['Memory', forAll('ai_memory')],
  ];
  return {
    nodes: [webhook(), ...others, ...tools, memory, answer()],
    connections: Object.fromEntries(entries),
  };
}

function loneAgent(index) {
  const agent = withParameters(node('AI Agent', '@n8n/n8n-nodes-langchain.agent', 3.1), {
    promptType: 'define',
    text: '={{ $json.body.message }}',
    options: { systemMessage: `Help the customers of shop ${index}.` },
  });
  const model = {
    ...withParameters(node('Model', '@n8n/n8n-nodes-langchain.lmChatOpenRouter', 1), {
      model: 'openai/gpt-4o-mini',
      options: {},
    }),
    credentials: CREDENTIALS,
  };
  return {
    nodes: [webhook(), agent, model, answer()],
    connections: {
      Webhook: main('AI Agent'),
      'AI Agent': main('Answer'),
      Model: { ai_languageModel: [[{ node: 'AI Agent', type: 'ai_languageModel', index: 0 }]] },
    },
  };
}

function withoutAgent() {
  const sets = Array.from({ length: 20 }, (_, place) => node(`Set ${place}`, 'n8n-nodes-base.set', 3.4));
  const names = ['Webhook', ...sets.map(({ name }) => name)];
  return {
    nodes: [webhook(), ...sets],
    connections: Object.fromEntries(names.slice(1).map((name, place) => [names[place], main(name)])),
  };
}

const node = (name, type, typeVersion) => ({ name, type, typeVersion, parameters: { options: {} } });
const withParameters = (plain, parameters) => ({ ...plain, parameters });
const main = (name) => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
const webhook = () =>
  withParameters(node('Webhook', 'n8n-nodes-base.webhook', 2.1), { path: 'bench', httpMethod: 'POST', options: {} });
const answer = () =>
  withParameters(node('Answer', 'n8n-nodes-base.set', 3.4), {
    assignments: { assignments: [{ id: 'a', name: 'answer', value: '={{ $json.output }}', type: 'string' }] },
    options: {},
  });

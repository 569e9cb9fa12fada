// What a builder has without us: a Switch on the tier, then for each tier an AI Agent of n8n's own with its own model
// and its own ten tools. The tools are HTTP Request tools, which is what n8n offers for a tool behind a URL
// (`toolHttpRequest` is deprecated and hidden), so that every subject does the same work: one POST a tool call.
// The body is one expression, which is the cheapest way to fill it; a field for each argument would cost three.
import { SYSTEM_PROMPT } from '../loop/scenario.mjs';
import { TIERS, tools } from './subjects.mjs';

/** As the editor writes it. */
export function tierSwitch() {
  const values = TIERS.map((tier) => ({
    conditions: {
      options: { caseSensitive: true, leftValue: '', typeValidation: 'strict', version: 2 },
      conditions: [
        {
          id: `is-${tier}`,
          leftValue: '={{ $json.body.tier }}',
          rightValue: tier,
          operator: { type: 'string', operation: 'equals' },
        },
      ],
      combinator: 'and',
    },
  }));
  const parameters = { rules: { values }, options: {} };
  return { name: 'Switch', type: 'n8n-nodes-base.switch', typeVersion: 3.2, parameters };
}

export function fiveBranches({ credentials, toolUrl }) {
  const branches = TIERS.map((tier) => branch(tier, credentials, toolUrl));
  return {
    nodes: [tierSwitch(), ...branches.flatMap(({ nodes }) => nodes)],
    connections: {
      Webhook: { main: [[{ node: 'Switch', type: 'main', index: 0 }]] },
      Switch: { main: TIERS.map((tier) => [{ node: agentName(tier), type: 'main', index: 0 }]) },
      ...Object.assign({}, ...branches.map(({ connections }) => connections)),
    },
  };
}

function branch(tier, { openRouterApi }, toolUrl) {
  const model = {
    name: `Model ${tier}`,
    type: '@n8n/n8n-nodes-langchain.lmChatOpenRouter',
    typeVersion: 1,
    parameters: { model: `bench/model-${tier}`, options: {} },
    credentials: { openRouterApi },
  };
  const toolNodes = tools.map((tool) => toolNode(tool, tier, toolUrl));
  const link = (type) => ({ [type]: [[{ node: agentName(tier), type, index: 0 }]] });
  return {
    nodes: [agent(tier), model, ...toolNodes],
    connections: {
      [model.name]: link('ai_languageModel'),
      ...Object.fromEntries(toolNodes.map(({ name }) => [name, link('ai_tool')])),
    },
  };
}

const agentName = (tier) => `Agent ${tier}`;

function agent(tier) {
  return {
    name: agentName(tier),
    type: '@n8n/n8n-nodes-langchain.agent',
    typeVersion: 3.1,
    parameters: {
      promptType: 'define',
      text: '={{ $json.body.message }}',
      options: { systemMessage: SYSTEM_PROMPT },
    },
  };
}

/** n8n names a tool after its node, and a node's name is unique in the workflow: hence the tier at the end. */
function toolNode({ name, description, parameters: { properties } }, tier, toolUrl) {
  const types = { string: 'string', integer: 'number', array: 'json' };
  const argument = ([key, { type, description: about }]) => `${key}: $fromAI('${key}', \`${about}\`, '${types[type]}')`;
  const input = Object.entries(properties).map(argument).join(', ');
  return {
    name: `${name}_${tier}`,
    type: 'n8n-nodes-base.httpRequestTool',
    typeVersion: 4.2,
    parameters: {
      toolDescription: description,
      method: 'POST',
      url: toolUrl,
      sendBody: true,
      specifyBody: 'json',
      jsonBody: `={{ { tool: '${name}', arguments: { ${input} } } }}`,
      options: {},
    },
  };
}

import { agentWorkflow, type Credential } from './host';

/** A sub-node, and the input that it is wired to. */
export interface SubNode {
  readonly name: string;
  readonly type: string;
  readonly version: number;
  readonly output: 'ai_languageModel' | 'ai_memory' | 'ai_tool' | 'ai_outputParser';
  /** Which of the inputs of this kind. */
  readonly input?: number;
  readonly parameters?: object;
  readonly credentials?: object;
  /** Another node than the agent. */
  readonly to?: string;
}

interface Wiring {
  readonly path: string;
  readonly agent: { readonly type: string; readonly typeVersion: number; readonly parameters: object };
  readonly credentials: object;
  readonly subNodes: readonly SubNode[];
}

type Workflow = ReturnType<typeof agentWorkflow> & { readonly settings: object };

/** Webhook, items, then the agent with its sub-nodes beneath it. */
export function connectedWorkflow({ path, agent, credentials, subNodes }: Wiring): Workflow {
  const { nodes, connections, name } = agentWorkflow({
    path,
    parameters: agent.parameters,
    credentials: credentials as Parameters<typeof agentWorkflow>[0]['credentials'],
    settings: { type: agent.type, typeVersion: agent.typeVersion },
  });
  const below = subNodes.map((one, index) => ({
    id: `${path}-${one.name}`,
    name: one.name,
    type: one.type,
    typeVersion: one.version,
    position: [index * 180 - 180, 300],
    parameters: one.parameters ?? {},
    ...(one.credentials === undefined ? {} : { credentials: one.credentials }),
  }));
  const links = subNodes.map(
    ({ name: from, output, input: index = 0, to = 'Agent' }) =>
      [from, { [output]: [[{ node: to, type: output, index }]] }] as const,
  );
  return {
    name,
    nodes: [...nodes.map((one, index) => ({ ...one, position: [index * 220 - 440, 0] })), ...below],
    connections: { ...connections, ...Object.fromEntries(links) },
    // As the editor saves it. The AI Agent resumes before its tools have run in the older order.
    settings: { executionOrder: 'v1' },
  };
}

const LC = '@n8n/n8n-nodes-langchain';

export function chatModel(openRouterApi: Credential, model: string, more: Partial<SubNode> = {}): SubNode {
  return {
    name: 'Model',
    type: `${LC}.lmChatOpenRouter`,
    version: 1,
    output: 'ai_languageModel',
    parameters: { model, options: { temperature: 0.4, maxRetries: 0 } },
    credentials: { openRouterApi },
    ...more,
  };
}

export const memory = (sessionKey = '={{ $json.session }}', turns = 10): SubNode => ({
  name: 'Memory',
  type: `${LC}.memoryBufferWindow`,
  version: 1.3,
  output: 'ai_memory',
  parameters: { sessionIdType: 'customKey', sessionKey, contextWindowLength: turns },
});

export const parser = (): SubNode => ({
  name: 'Parser',
  type: `${LC}.outputParserStructured`,
  version: 1.3,
  output: 'ai_outputParser',
  parameters: {
    schemaType: 'manual',
    inputSchema: JSON.stringify({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
  },
});

/** One of each kind of tool that builders wire. */
export function tools(real: { readonly http: string; readonly mcp: string; readonly workflow: string }): SubNode[] {
  const tool = (name: string, typed: string, parameters: object = {}): SubNode => {
    const [type = '', version] = typed.split(/@(?=[\d.]+$)/u);
    return { name, type, version: Number(version), parameters, output: 'ai_tool' };
  };
  const value = { question: "={{ $fromAI('question', 'What to ask', 'string') }}" };
  const field = { id: 'question', displayName: 'question', required: false, defaultMatch: false, display: true };
  return [
    tool('shout', `${LC}.toolCode@1.3`, {
      description: 'Gives a text back in capital letters',
      jsCode: 'return query.toUpperCase();',
    }),
    tool('Calculator', `${LC}.toolCalculator@1`),
    tool('Call Colleague', `${LC}.toolWorkflow@2.2`, {
      description: 'Asks a colleague',
      workflowId: { __rl: true, mode: 'id', value: real.workflow },
      workflowInputs: {
        mappingMode: 'defineBelow',
        value,
        matchingColumns: [],
        schema: [{ ...field, type: 'string' }],
        attemptToConvertTypes: false,
        convertFieldsToString: false,
      },
    }),
    tool('Shop Server', `${LC}.mcpClientTool@1.2`, {
      endpointUrl: real.mcp,
      serverTransport: 'httpStreamable',
      include: 'all',
      options: {},
    }),
    tool('Find Orders', 'n8n-nodes-base.httpRequestTool@4.2', {
      toolDescription: 'Finds the orders of a customer',
      url: real.http,
      sendQuery: true,
      queryParameters: {
        parameters: [{ name: 'customer', value: "={{ $fromAI('customer', 'Name of the customer', 'string') }}" }],
      },
      options: {},
    }),
  ];
}

/** A workflow that is called as a tool. */
export const COLLEAGUE = {
  name: 'Colleague',
  nodes: [
    {
      id: 'colleague-asked',
      name: 'Asked',
      type: 'n8n-nodes-base.executeWorkflowTrigger',
      typeVersion: 1.1,
      position: [0, 0],
      parameters: { inputSource: 'passthrough' },
    },
  ],
  connections: {},
};

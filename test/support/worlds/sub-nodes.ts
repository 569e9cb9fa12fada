import type {
  IConnections,
  INode,
  INodeParameters,
  INodeType,
  ISupplyDataFunctions,
  NodeConnectionType,
} from 'n8n-workflow';

/** A node that is wired to another one's side and gives it `supply`. */
export function subNodeType(
  output: NodeConnectionType,
  supply: (context: ISupplyDataFunctions, itemIndex: number) => unknown,
): INodeType {
  return {
    description: { ...described('Sub-node'), outputs: [output] } as unknown as INodeType['description'],
    supplyData(this: ISupplyDataFunctions, itemIndex: number) {
      return Promise.resolve({ response: supply(this, itemIndex) });
    },
  };
}

/** A node that n8n makes a tool of: its parameters may hold $fromAI. */
export function nodeAsTool(execute: NonNullable<INodeType['execute']>, properties: readonly string[] = []): INodeType {
  const parameters = properties.map((name) => ({ displayName: name, name, type: 'string', default: '' }));
  const toolDescription = { displayName: 'Description', name: 'toolDescription', type: 'string', default: '' };
  const description = {
    ...described('Tool'),
    outputs: ['ai_tool'],
    properties: [toolDescription, ...parameters],
  } as unknown as INodeType['description'];
  return { description, execute };
}

function described(displayName: string): object {
  return {
    displayName,
    name: displayName.toLowerCase(),
    group: ['transform'],
    version: 1,
    description: '',
    defaults: { name: displayName },
    // For those that have a tool wired to them themselves.
    inputs: [{ type: 'ai_tool' }],
    properties: [],
  };
}

export interface Wire {
  readonly name: string;
  readonly type: string;
  /** To which kind of input of the agent, or of `to`. */
  readonly output: NodeConnectionType;
  readonly input?: number;
  readonly to?: string;
  readonly parameters?: INodeParameters;
  readonly disabled?: boolean;
}

/** The nodes and links of a workflow: items, then `agent`, to which `wires` are connected. */
export function wired(
  agent: INode,
  wires: readonly Wire[],
): { readonly nodes: INode[]; readonly connections: IConnections } {
  const node = (name: string, type: string, more: Partial<INode> = {}): INode => ({
    id: name,
    name,
    type,
    typeVersion: 1,
    position: [0, 0],
    parameters: {},
    ...more,
  });
  const connections: IConnections = { Items: { main: [[{ node: agent.name, type: 'main', index: 0 }]] } };
  for (const { name, output, input: index = 0, to = agent.name } of wires) {
    connections[name] = { [output]: [[{ node: to, type: output, index }]] };
  }
  const subNodes = wires.map(({ name, type, parameters = {}, disabled = false }) =>
    node(name, type, { parameters, disabled }),
  );
  return { nodes: [node('Items', 'test.items'), agent, ...subNodes], connections };
}

import {
  type EngineRequest,
  type EngineResponse,
  type IDataObject,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  NodeConnectionTypes,
} from 'n8n-workflow';

/** A call that a model asks for. */
export interface ScriptedCall {
  readonly tool: string;
  readonly arguments: IDataObject;
  /** Default: Tenant Tools. */
  readonly node?: string;
  /** Name that a person is shown. Default: the tool's. */
  readonly shownAs?: string;
  /** The item of the agent that the call is for. Default: the first. */
  readonly itemIndex?: number;
  /** Set where a person was asked: the node that asked. */
  readonly approvedBy?: string;
}

interface HostTool {
  readonly name: string;
  readonly schema: object;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly invoke: (input: unknown, options?: { readonly signal?: AbortSignal }) => Promise<unknown>;
}

/** Tools that the agents of a test were given, by the run in which they got them. */
export const given: HostTool[][] = [];

const description = (inputs: readonly string[]): INodeType['description'] =>
  ({
    displayName: 'Agent',
    name: 'agent',
    group: ['transform'],
    version: 1,
    description: '',
    defaults: { name: 'Agent' },
    inputs: inputs.map((type) => ({ type, displayName: type })),
    outputs: ['main'],
    properties: [{ displayName: 'Calls', name: 'calls', type: 'json', default: '' }],
  }) as unknown as INodeType['description'];

async function readTools(context: IExecuteFunctions): Promise<readonly HostTool[]> {
  const supplied = (await context.getInputConnectionData(NodeConnectionTypes.AiTool, 0)) as (
    HostTool | { readonly tools: HostTool[] }
  )[];
  const tools = supplied.flatMap((one) => ('tools' in one ? one.tools : [one]));
  // As n8n's agents do, which turn schemas of JSON into some of zod.
  for (const tool of tools) (tool as { schema: object }).schema = { replaced: true };
  given.push(tools);
  return tools;
}

/** Calls tools itself, as n8n's AI Agent before version 3, its sub-agents and its MCP server do. */
export class InvokingAgent implements INodeType {
  description = description(['main', 'ai_tool']);

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const tools = await readTools(this);
    const calls = JSON.parse(this.getNodeParameter('calls', 0) as string) as ScriptedCall[];
    const results = await Promise.all(
      calls.map(async (call) => tools.find(({ name }) => name === call.tool)?.invoke(call.arguments)),
    );
    return [results.map((result) => ({ json: { result: result as string } }))];
  }
}

/** n8n gives the input of an approved call without parameters a name. */
function argumentsOf(written: IDataObject, approvedBy: string | undefined): IDataObject {
  return approvedBy !== undefined && Object.keys(written).length === 0 ? { input: undefined } : written;
}

/** Has the engine call tools, as n8n's AI Agent since version 3 does: all of one round at once. */
export class RequestingAgent implements INodeType {
  description = description(['main', 'ai_tool']);

  async execute(this: IExecuteFunctions, response?: EngineResponse): Promise<INodeExecutionData[][] | EngineRequest> {
    const rounds = JSON.parse(this.getNodeParameter('calls', 0) as string) as ScriptedCall[][];
    const { round = 0, results = [] } = (response?.metadata ?? {}) as { round?: number; results?: IDataObject[] };
    const ended = (response?.actionResponses ?? []).map(({ data }) => ({
      error: data.error?.message,
      ...data.data?.ai_tool?.[0]?.[0]?.json,
    }));
    const all = [...results, ...ended];
    const next = rounds[round];
    if (round === 0) await readTools(this);
    if (next === undefined) return [all.map((json) => ({ json }))];
    return {
      actions: next.map(({ node = 'Tenant Tools', shownAs, approvedBy, itemIndex = 0, ...call }, index) => ({
        actionType: 'ExecutionNodeAction' as const,
        nodeName: node,
        input: { ...argumentsOf(call.arguments, approvedBy), tool: shownAs ?? call.tool },
        type: NodeConnectionTypes.AiTool,
        id: `call_${round}_${index}`,
        metadata: { itemIndex, ...(approvedBy === undefined ? {} : { parentNodeName: approvedBy }) },
      })),
      metadata: { round: round + 1, results: all },
    };
  }
}

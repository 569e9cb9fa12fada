import {
  type IDataObject,
  type INodeExecutionData,
  type ISupplyDataFunctions,
  NodeConnectionTypes,
  type SupplyData,
} from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { type Caller, callerOf, isMcpTrigger } from '../shared/callers/caller';
import { summarize, toTextError } from '../shared/errors';
import { reportWarnings } from '../shared/hints';
import { hostModule } from '../shared/host-modules';
import type { Library } from '../shared/item';
import { callTool, type Outcome, readConfig } from './call';
import { showsSchemas, usesEngine } from './caller';
import { readQuery } from './read-query';
import { reviewedSchema } from './reviewed-call';

const TYPE = NodeConnectionTypes.AiTool;
/** What n8n puts in the place of an agent for "Execute step". */
const STEP = '@n8n/n8n-nodes-langchain.toolExecutor';

/** A tool as LangChain has them: n8n looks at the shape. Not frozen, since n8n notes its origin in it. */
interface HostTool {
  readonly name: string;
  description: string;
  schema: object;
  metadata: IDataObject;
  readonly lc_namespace: readonly string[];
  readonly invoke: (input: unknown, options?: { readonly signal?: AbortSignal }) => Promise<unknown>;
  /** The older name of it, by which AI Agent 2 calls while it streams. */
  readonly call: (input: unknown) => Promise<unknown>;
}

/** The tools of the tenant for whatever is wired to the node. Throws the error of a sub-node. */
export async function supplyTools(context: ISupplyDataFunctions): Promise<SupplyData> {
  // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
  const library: typeof RuntimeLibrary = await import('../../runtime/host');
  try {
    const caller = callerOf(context);
    const query = await readQuery(context, caller, library);
    const config = await readConfig(context, library);
    const signal = context.getExecutionCancelSignal();
    const { meta: _meta, task: _task, ...asked } = query;
    const offer = await library.useRuntime(config, ({ tools }) => tools.offer({ ...asked, signal }));
    const lost = usesEngine(caller) ? offer.tools.filter(takesName) : [];
    const unusable = lost.map(({ name: tool }) =>
      new library.RuntimeError('TOOL_ARGUMENT_RESERVED', { tool }).toSummary(),
    );
    reportWarnings(context, [...offer.warnings, ...unusable]);
    const usable = offer.tools.filter((tool) => !lost.includes(tool));
    const tools = usable.map((definition) => {
      const call = (given: IDataObject, own?: AbortSignal): Promise<Outcome> => {
        const signals = [signal, own].filter((one) => one !== undefined);
        const asked = { tool: definition.name, arguments: given, signal: AbortSignal.any(signals) };
        return callTool(context, { query, config, library }, asked);
      };
      return hostTool(context, caller, { definition, call });
    });
    return { response: { tools, getTools: () => tools } };
  } catch (error) {
    // n8n shows the message of a sub-node, and nothing else of its error.
    throw toTextError(context.getNode(), summarize(error));
  }
}

type Definition = Awaited<
  ReturnType<Parameters<Parameters<Library['useRuntime']>[1]>[0]['tools']['offer']>
>['tools'][number];

function hostTool(
  context: ISupplyDataFunctions,
  caller: Caller,
  {
    definition: { name, description, inputSchema },
    call,
  }: {
    readonly definition: Definition;
    readonly call: (given: IDataObject, signal?: AbortSignal) => Promise<Outcome>;
  },
): HostTool {
  // A copy, which nobody else changes.
  const own = JSON.parse(JSON.stringify(inputSchema)) as object;
  const { node, review } = caller;
  const isServer = node !== undefined && isMcpTrigger(node);
  const invoke: HostTool['invoke'] = async (given, options) => {
    const input = asObject(given);
    const shown: INodeExecutionData[][] = [[{ json: { ...input, tool: name } }]];
    const { index } = context.addInputData(TYPE, shown);
    const outcome = await call(input, options?.signal);
    if (outcome.error === undefined) {
      context.addOutputData(TYPE, index, [[{ json: { response: outcome.value as IDataObject } }]]);
      return textOf(outcome.value);
    }
    context.addOutputData(TYPE, index, toTextError(context.getNode(), outcome.error));
    // The one is how n8n's MCP server knows an error, the other how our own agent tells a model of one.
    const told = { error: outcome.error };
    return isServer ? told : JSON.stringify(told);
  };
  const tool: HostTool = {
    name,
    description,
    schema: review === undefined ? own : reviewedSchema(own, review),
    metadata: {},
    lc_namespace: ['langchain', 'tools'],
    invoke,
    call: (given) => invoke(given),
  };
  if (node?.type === STEP) return forStep(tool);
  return showsSchemas(caller) ? withFixedSchema(tool) : tool;
}

/** Makes it one of n8n's own class, which alone it calls there. */
function forStep(tool: HostTool): HostTool {
  const { DynamicStructuredTool } = hostModule('@langchain/core/tools') ?? {};
  if (typeof DynamicStructuredTool !== 'function') return tool;
  const { name, description, schema, invoke } = tool;
  return Reflect.construct(DynamicStructuredTool, [{ name, description, schema, func: invoke }]) as HostTool;
}

/** n8n would turn the schema into one of zod, and that one back for the model, which loses what zod does not know. */
function withFixedSchema(tool: HostTool): HostTool {
  const { schema } = tool;
  return Object.defineProperty(tool, 'schema', { get: () => schema, set: () => undefined, enumerable: true });
}

/** The engine passes the name of the tool as an argument `tool`, in place of one that the tool itself takes. */
function takesName({ inputSchema: { properties } }: Definition): boolean {
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, 'tool');
}

function asObject(given: unknown): IDataObject {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as IDataObject) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

import { type IExecuteFunctions, NodeConnectionTypes } from 'n8n-workflow';

import type { ConnectedTool } from '../../../runtime/host';
import { hostModule } from '../../shared/host-modules';
import type { Item, Library } from '../../shared/item';

type InputSchema = ConnectedTool['definition']['inputSchema'];

/** A tool of n8n, as far as it is looked at here: an object of LangChain, or one with the same properties. */
interface HostTool {
  readonly name: string;
  readonly description: string;
  /** A schema of zod or JSON Schema. Undefined: a single text. */
  readonly schema?: object | null;
  readonly invoke: (input: unknown, options: { readonly signal: AbortSignal }) => Promise<unknown>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * The tools that are wired to the node, with their parameters for this item. Rejects with CONNECTED_TOOL_UNUSABLE for what
 * could not be called, and with n8n's own error when a sub-node fails.
 */
export async function readConnectedTools({ library, ...item }: Item): Promise<readonly ConnectedTool[]> {
  const { context, index } = asOnlyItem(item);
  const connected: unknown = await context.getInputConnectionData(NodeConnectionTypes.AiTool, index);
  const given: readonly unknown[] = Array.isArray(connected) ? connected : [];
  return given.flatMap(toolsOf).map((tool) => toConnectedTool(tool, library));
}

/**
 * When n8n calls a node as a tool, or another workflow, it looks at the first item, for whichever item the tool was
 * read. So each item's tools are read as if there were no other: else those of one tenant would get the fields of another.
 */
function asOnlyItem({ context, index }: Pick<Item, 'context' | 'index'>): Pick<Item, 'context' | 'index'> {
  // The contexts of n8n have it; its types do not say so.
  const { connectionInputData: items } = context as unknown as { readonly connectionInputData?: readonly unknown[] };
  if (items?.[index] === undefined) return { context, index };
  const alone = Object.create(context, { connectionInputData: { value: [items[index]] } }) as IExecuteFunctions;
  return { context: alone, index: 0 };
}

/** A toolkit holds several. */
function toolsOf(given: unknown): readonly unknown[] {
  if (typeof given !== 'object' || given === null) return [given];
  const { tools, getTools } = given as { readonly tools?: unknown; readonly getTools?: () => unknown };
  if (Array.isArray(tools)) return tools;
  const got: unknown = typeof getTools === 'function' ? getTools.call(given) : undefined;
  return Array.isArray(got) ? got : [given];
}

function toConnectedTool(given: unknown, library: Library): ConnectedTool {
  const unusable = (tool: string, reason: string): Error =>
    new library.RuntimeError('CONNECTED_TOOL_UNUSABLE', { tool, reason });
  if (!isHostTool(given)) throw unusable(nameOf(given), 'it has no name, no description or nothing to call');
  const { name, description, schema, metadata = {} } = given;
  // n8n asks the person where an AI Agent of its own calls the tool; what we would call answers with nothing.
  if ('gatedToolNodeName' in metadata) throw unusable(name, 'its node asks a person before each call');
  const inputSchema = toJsonSchema(schema);
  if (inputSchema === undefined) throw unusable(name, 'its parameters cannot be read');
  return {
    definition: { name, description, inputSchema },
    source: typeof metadata.sourceNodeName === 'string' ? metadata.sourceNodeName : undefined,
    call: (input, signal) => invoke(given, input, signal),
  };
}

function isHostTool(given: unknown): given is HostTool {
  if (typeof given !== 'object' || given === null) return false;
  const { name, description, invoke } = given as Partial<Record<keyof HostTool, unknown>>;
  return typeof name === 'string' && typeof description === 'string' && typeof invoke === 'function';
}

function nameOf(given: unknown): string {
  const name = typeof given === 'object' && given !== null ? (given as { name?: unknown }).name : undefined;
  return typeof name === 'string' ? name : 'without a name';
}

/** What LangChain shows of a tool that takes a text. */
const TEXT_INPUT: InputSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  additionalProperties: false,
};

/** The schema as n8n's own models show it to their provider. Undefined where n8n's converter is not to be had. */
export function toJsonSchema(schema: object | null | undefined): InputSchema | undefined {
  if (schema === undefined || schema === null) return TEXT_INPUT;
  if (!('_def' in schema || '_zod' in schema)) return plain(schema);
  const { toJsonSchema } = hostModule('@langchain/core/utils/json_schema') ?? {};
  const { zodToJsonSchema } = typeof toJsonSchema === 'function' ? {} : (hostModule('zod-to-json-schema') ?? {});
  const convert = toJsonSchema ?? zodToJsonSchema;
  return typeof convert === 'function' ? plain(Reflect.apply(convert, undefined, [schema])) : undefined;
}

/** A copy, which nobody else changes. */
function plain(schema: unknown): InputSchema {
  return JSON.parse(JSON.stringify(schema)) as InputSchema;
}

async function invoke(tool: HostTool, input: unknown, signal: AbortSignal): Promise<unknown> {
  try {
    return await tool.invoke(input, { signal });
  } catch (error) {
    throw explained(error);
  }
}

/** n8n keeps half of what went wrong in the description. */
function explained(error: unknown): unknown {
  const { message, description } = (error ?? {}) as { readonly message?: unknown; readonly description?: unknown };
  if (typeof message !== 'string' || typeof description !== 'string' || message.includes(description)) return error;
  return new Error(`${message}: ${description}`, { cause: error });
}

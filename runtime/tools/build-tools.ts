import type { ToolRow } from '../contracts/tenant';
import type { TenantTool, Tool } from '../contracts/tools/tool';
import type { ConfiguredTransport, PreparedTool, ToolSettings, ToolTransport } from '../contracts/tools/tool-transport';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isJsonObject, type JsonObject } from '../util/json';
import { turn } from '../util/turn';
import { type ExecuteOptions, executeTool } from './execute-tool';
import { compileInputSchema } from './schemas/validate-input';
import { readToolSettings } from './tool-settings';

export interface BuiltTools {
  readonly tools: readonly TenantTool[];
  /** Rows that cannot be offered, and why. The run goes on without them. */
  readonly warnings: readonly ErrorSummary[];
}

export interface ToolBuilderOptions extends ExecuteOptions {
  readonly transports: Readonly<Record<string, ToolTransport | ConfiguredTransport>>;
  readonly defaultTimeoutMs: number;
}

/** Makes a tool of an MCP server. Throws an Error for a schema that cannot be used. */
export type BuildServerTool = (settings: ToolSettings) => Tool;

export type BuildTools = (rows: readonly ToolRow[]) => Promise<BuiltTools>;

/** Turns rows into tools. */
export function createToolBuilder(options: ToolBuilderOptions): BuildTools {
  return (rows) => buildAll(rows, options);
}

async function buildAll(rows: readonly ToolRow[], options: ToolBuilderOptions): Promise<BuiltTools> {
  const tools: TenantTool[] = [];
  const warnings: ErrorSummary[] = [];
  for (const row of rows) {
    await turn();
    try {
      tools.push({
        tool: buildTool(row, options),
        allowedTiers: row.allowedTiers,
        type: row.transport,
        code: row.code,
        permission: ownRules(row.customConfig),
      });
    } catch (error) {
      warnings.push(describeError('TOOL_SKIPPED', { tool: row.code, reason: errorText(error) }));
    }
  }
  return { tools, warnings };
}

/** The rules of a tool's own row: `fixed_arguments` stands beside `permissions` in rows that are older than the latter. */
export function ownRules({ permissions, fixed_arguments: fixed }: JsonObject): unknown {
  const own = permissions ?? {};
  // What is no object is refused as rules are, and must not make way for what is fixed.
  if (fixed === undefined || !isJsonObject(own)) return permissions;
  if (!isJsonObject(fixed)) throw new Error('custom_config.fixed_arguments is not an object');
  const { fixed_arguments: inner = {} } = own;
  return isJsonObject(inner) ? { ...own, fixed_arguments: { ...inner, ...fixed } } : own;
}

export function createServerToolBuilder(options: ToolBuilderOptions): BuildServerTool {
  const mcp = options.transports.mcp as ToolTransport;
  return (settings) => toTool(prepareTool(mcp, settings), options);
}

function buildTool(row: ToolRow, options: ToolBuilderOptions): Tool {
  const transport = Object.hasOwn(options.transports, row.transport) ? options.transports[row.transport] : undefined;
  if (transport === undefined) throw new Error(`transport "${row.transport}" is not supported by this version`);
  const settings = readToolSettings(row, options.defaultTimeoutMs);
  const prepared = 'prepare' in transport ? transport.prepare(settings, row) : prepareTool(transport, settings);
  return toTool(prepared, options);
}

function prepareTool(transport: ToolTransport, settings: ToolSettings): PreparedTool {
  return { settings, call: (call) => transport.call(settings, call) };
}

function toTool(prepared: PreparedTool, options: ToolBuilderOptions): Tool {
  const { name, description, inputSchema, storeAs } = prepared.settings;
  const words = storeAs === undefined ? description : `${description}\n\n${keptIn(storeAs)}`;
  return {
    definition: { name, description: words, inputSchema },
    parseInput: compileInputSchema(inputSchema),
    isRepeatable: isRepeatable(prepared),
    isReadOnly: prepared.settings.isReadOnly ?? prepared.isReadOnly,
    setsVariables: prepared.setsVariables === true || storeAs !== undefined,
    execute: (input, context) => executeTool({ ...prepared, options }, input, context),
  };
}

/** Tells the model of a variable that it may name in arguments. */
const keptIn = (variable: string): string =>
  `The result is kept as the variable ${variable}: write {{${variable}}} in an argument of a later tool call to pass it on as it is.`;

/** What the row says counts before what is known of the transport or the built-in tool. */
function isRepeatable({ settings, isRepeatable: known }: PreparedTool): Tool['isRepeatable'] {
  return typeof settings.config.repeatable === 'boolean'
    ? settings.config.repeatable
    : (known ?? settings.isRepeatable);
}

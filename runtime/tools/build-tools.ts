import type { ToolRow } from '../contracts/tenant';
import type { Tool } from '../contracts/tool';
import type { ToolSettings, ToolTransport } from '../contracts/tool-transport';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { executeTool, type ExecuteOptions } from './execute-tool';
import { readToolSettings } from './tool-settings';
import { compileInputSchema } from './validate-input';

/** A tool, and the tiers that may use it. */
export interface TenantTool {
  readonly tool: Tool;
  readonly allowedTiers?: readonly string[];
  /** Another name for it in allow-lists: `server.tool`. */
  readonly alias?: string;
  /** How it is reached: the row's transport, or `mcp`. */
  readonly type: string;
}

export interface BuiltTools {
  readonly tools: readonly TenantTool[];
  /** Rows that cannot be offered, and why. The run goes on without them. */
  readonly warnings: readonly ErrorSummary[];
}

export interface ToolBuilderOptions extends ExecuteOptions {
  readonly transports: Readonly<Record<string, ToolTransport>>;
  readonly defaultTimeoutMs: number;
}

/** A discovered tool, ready to be called. */
export interface ServerTool extends Omit<TenantTool, 'tool' | 'type'> {
  readonly settings: ToolSettings;
}

export type BuildServerTools = (tools: readonly ServerTool[]) => BuiltTools;

export type BuildTools = (rows: readonly ToolRow[]) => BuiltTools;

/** Turns rows into tools. The same array of rows gives the same tools again, so a warm run builds nothing. */
export function createToolBuilder(options: ToolBuilderOptions): BuildTools {
  const built = new WeakMap<readonly ToolRow[], BuiltTools>();
  return (rows) => {
    const known = built.get(rows);
    if (known !== undefined) return known;
    const result = buildAll(rows, options);
    built.set(rows, result);
    return result;
  };
}

function buildAll(rows: readonly ToolRow[], options: ToolBuilderOptions): BuiltTools {
  const tools: TenantTool[] = [];
  const warnings: ErrorSummary[] = [];
  for (const row of rows) {
    try {
      tools.push({ tool: buildTool(row, options), allowedTiers: row.allowedTiers, type: row.transport });
    } catch (error) {
      warnings.push(describeError('TOOL_SKIPPED', { tool: row.code, reason: errorText(error) }));
    }
  }
  return { tools, warnings };
}

/** Tools of MCP servers. One whose schema cannot be used is left out with a warning. */
export function createServerToolBuilder(options: ToolBuilderOptions): BuildServerTools {
  const mcp = options.transports.mcp as ToolTransport;
  return (tools) => {
    const built: TenantTool[] = [];
    const warnings: ErrorSummary[] = [];
    for (const { settings, allowedTiers, alias } of tools) {
      try {
        built.push({ tool: toTool(settings, mcp, options), allowedTiers, alias, type: 'mcp' });
      } catch (error) {
        const details = { server: settings.server?.name, count: 1, tools: settings.mcpTool };
        warnings.push(describeError('MCP_TOOLS_SKIPPED', { ...details, reason: errorText(error) }));
      }
    }
    return { tools: built, warnings };
  };
}

function buildTool(row: ToolRow, options: ToolBuilderOptions): Tool {
  const transport = Object.hasOwn(options.transports, row.transport) ? options.transports[row.transport] : undefined;
  if (transport === undefined) throw new Error(`transport "${row.transport}" is not supported by this version`);
  return toTool(readToolSettings(row, options.defaultTimeoutMs), transport, options);
}

function toTool(settings: ToolSettings, transport: ToolTransport, options: ToolBuilderOptions): Tool {
  const { name, description, inputSchema } = settings;
  return {
    definition: { name, description, inputSchema },
    parseInput: compileInputSchema(inputSchema),
    execute: (input, context) => executeTool({ settings, transport, options }, input, context),
  };
}

import type { ToolPermission } from '../contracts/permission';
import type { ParsedInput, Tool, ToolDefinition } from '../contracts/tool';
import { toolFailure } from '../errors/tool-failure';
import { startDeadline } from '../util/abort';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { compileArgumentRules } from './check-arguments';

/** The tool with its rules around it: what the model sees, what it may pass, and how long a call may take. */
export function guardTool(tool: Tool, permission: ToolPermission, code?: string): Tool {
  const { fixedArguments, timeoutMs, callsPerRun, callsPerMinute, callsPerDay } = permission;
  const fixed = Object.keys(fixedArguments);
  const checkRules = compileArgumentRules(permission, tool.definition.inputSchema);
  const capped = timeoutMs === undefined ? tool.execute : withTimeout(tool, timeoutMs);
  return {
    definition: hideArguments(tool.definition, fixed),
    parseInput: (input) => {
      const parsed = tool.parseInput(fixed.length === 0 ? input : { ...without(input, fixed), ...fixedArguments });
      if (!parsed.ok) return parsed;
      const checked = checkRules(without(parsed.value, fixed));
      return checked.ok ? checked : named(checked, tool.definition.name);
    },
    policy: { code, needsApproval: permission.decision === 'ask', callsPerRun, callsPerMinute, callsPerDay },
    execute:
      fixed.length === 0
        ? capped
        : (input, context) => capped({ ...without(input, fixed), ...fixedArguments }, context),
  };
}

function named(refused: ParsedInput & { readonly ok: false }, tool: string): ParsedInput {
  return { ...refused, issues: `${tool}: ${refused.issues}` };
}

/** Ends a call at the cap, whatever the tool itself has for a time-out. */
function withTimeout(tool: Tool, timeoutMs: number): Tool['execute'] {
  const { name } = tool.definition;
  return async (input, context) => {
    const deadline = startDeadline(timeoutMs, context.signal);
    try {
      const output = await tool.execute(input, { ...context, signal: deadline.signal });
      return deadline.cause() === 'timeout' && output.isError
        ? toolFailure('TOOL_TIMEOUT', { tool: name, timeoutMs })
        : output;
    } finally {
      deadline.dispose();
    }
  };
}

/** What the model is shown: without the arguments that are fixed. */
function hideArguments(definition: ToolDefinition, hidden: readonly string[]): ToolDefinition {
  if (hidden.length === 0) return definition;
  const { properties, required } = definition.inputSchema;
  const isShown = (name: JsonValue): boolean => typeof name !== 'string' || !hidden.includes(name);
  return {
    ...definition,
    inputSchema: {
      ...definition.inputSchema,
      ...(isJsonObject(properties) ? { properties: without(properties, hidden) } : {}),
      ...(Array.isArray(required) ? { required: (required as JsonValue[]).filter(isShown) } : {}),
    },
  };
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  if (names.length === 0) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

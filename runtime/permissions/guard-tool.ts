import type { ToolPermission } from '../contracts/permission';
import type { ParsedInput, Tool, ToolDefinition, ToolOutput } from '../contracts/tool';
import { toolFailure } from '../errors/tool-failure';
import { startDeadline, untilAborted } from '../util/abort';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { whenKnown } from '../util/when-known';
import { compileArgumentRules } from './check-arguments';

/** The tool with its rules around it: what the model sees, what it may pass, and how long a call may take. */
export function guardTool(tool: Tool, permission: ToolPermission, code?: string): Tool {
  const { fixedArguments, timeoutMs, callsPerRun, callsPerMinute, callsPerDay, ofAgent } = permission;
  const fixed = Object.keys(fixedArguments);
  const checkRules = compileArgumentRules(permission, tool.definition.inputSchema, fixed);
  const capped = timeoutMs === undefined ? tool.execute : withTimeout(tool, timeoutMs);
  const { isRepeatable } = tool;
  return {
    definition: hideArguments(tool.definition, fixed),
    isRepeatable:
      typeof isRepeatable === 'function'
        ? (input) => isRepeatable({ ...without(input, fixed), ...fixedArguments })
        : isRepeatable,
    parseInput: (input) => {
      const whole = fixed.length === 0 ? input : { ...without(input, fixed), ...fixedArguments };
      return whenKnown(tool.parseInput(whole), (parsed): ParsedInput => {
        if (!parsed.ok) return parsed;
        // Of what is fixed too: one level must not fix what another forbids.
        const checked = checkRules(parsed.value);
        if (!checked.ok) return named(checked, tool.definition.name);
        return fixed.length === 0 ? checked : { ok: true, value: without(checked.value, fixed) };
      });
    },
    policy: { code, needsApproval: permission.decision === 'ask', callsPerRun, callsPerMinute, callsPerDay, ofAgent },
    execute: async (input, context) => {
      if (fixed.length === 0) return capped(input, context);
      const checked = checkRules({ ...without(input, fixed), ...fixedArguments });
      if (checked.ok) return capped(checked.value, context);
      const { name } = tool.definition;
      return toolFailure('TOOL_PERMISSION_DENIED', { tool: name, reason: `${name}: ${checked.issues}` });
    },
  };
}

function named(refused: ParsedInput & { readonly ok: false }, tool: string): ParsedInput {
  return { ...refused, issues: `${tool}: ${refused.issues}` };
}

/** Ends a call at the cap, whatever the tool itself has for a time-out, and whether or not it heeds the signal. */
function withTimeout(tool: Tool, timeoutMs: number): Tool['execute'] {
  const { name } = tool.definition;
  return async (input, context) => {
    const deadline = startDeadline(timeoutMs, context.signal);
    try {
      const { signal } = deadline;
      const output = await untilAborted(tool.execute(input, { ...context, signal }), signal);
      return deadline.cause() === 'timeout' && output.isError ? timedOut(name, timeoutMs) : output;
    } catch (error) {
      if (deadline.cause() !== 'timeout') throw error;
      return timedOut(name, timeoutMs);
    } finally {
      deadline.dispose();
    }
  };
}

function timedOut(tool: string, timeoutMs: number): ToolOutput {
  return toolFailure('TOOL_TIMEOUT', { tool, timeoutMs });
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

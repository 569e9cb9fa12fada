import type { ToolPermission } from '../contracts/tools/permission';
import type { ParsedInput, TenantTool, Tool } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { toolFailure } from '../errors/tool-failure';
import { startDeadline, untilAborted } from '../util/abort';
import { whenKnown } from '../util/when-known';
import { compileArgumentRules } from './check-arguments';
import { fixArguments } from './fixed-arguments';

/** The tool with its rules around it: what the model sees, what it may pass, and how long a call may take. */
export function guardTool(
  tool: Tool,
  permission: ToolPermission,
  { code, origin }: Pick<TenantTool, 'code' | 'origin'> = {},
): Tool {
  const { timeoutMs, callsPerRun, callsPerMinute, callsPerDay, ofAgent } = permission;
  const { name, inputSchema } = tool.definition;
  const fixed = fixArguments(permission.fixedArguments, inputSchema);
  const checkRules = compileArgumentRules(permission, inputSchema, fixed.names);
  const capped = timeoutMs === undefined ? tool.execute : withTimeout(tool, timeoutMs);
  const { isRepeatable, isReadOnly, loadsSkills, setsVariables, isUncounted } = tool;
  const guarded: Tool = {
    definition: tool.definition,
    ...{ isRepeatable, isReadOnly, loadsSkills, setsVariables, isUncounted, origin },
    parseInput: (input, checkedFor) => {
      return whenKnown(tool.parseInput(input, checkedFor), (parsed): ParsedInput =>
        parsed.ok ? named(checkRules(parsed.value), name) : parsed,
      );
    },
    policy: { code, needsApproval: permission.decision === 'ask', callsPerRun, callsPerMinute, callsPerDay, ofAgent },
    execute: capped,
  };
  if (fixed.names.length === 0) return guarded;
  return {
    ...guarded,
    definition: { ...tool.definition, inputSchema: fixed.hide(inputSchema) },
    isRepeatable:
      typeof isRepeatable === 'function'
        ? (input) => {
            const laid = fixed.lay(input);
            return 'value' in laid && isRepeatable(laid.value);
          }
        : isRepeatable,
    parseInput: (input, checkedFor) => {
      const laid = fixed.lay(input);
      if ('misplaced' in laid) return named(misplaced(laid.misplaced), name);
      // Of what is fixed too: one level must not fix what another forbids.
      return whenKnown(guarded.parseInput(laid.value, checkedFor), (parsed): ParsedInput =>
        parsed.ok ? { ok: true, value: fixed.strip(parsed.value) } : parsed,
      );
    },
    execute: async (input, context) => {
      const laid = fixed.lay(input);
      const checked = 'value' in laid ? checkRules(laid.value) : misplaced(laid.misplaced);
      if (checked.ok) return capped(checked.value, context);
      return toolFailure('TOOL_PERMISSION_DENIED', { tool: name, reason: `${name}: ${checked.issues}` });
    },
  };
}

function misplaced(argument: string): ParsedInput & { readonly ok: false } {
  const issues = `"${argument}" is fixed, and what was given has no place for it`;
  return { ok: false, issues, code: 'TOOL_PERMISSION_DENIED' };
}

function named(parsed: ParsedInput, tool: string): ParsedInput {
  return parsed.ok ? parsed : { ...parsed, issues: `${tool}: ${parsed.issues}` };
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

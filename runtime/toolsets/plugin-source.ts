import type { TenantToolSource, Tool } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import type { OfferedTool, ToolOffer, ToolSource } from './tool-source';

/** Tools of this process, offered to every tenant. */
export function createPluginSource(tools: readonly Tool[]): ToolSource {
  const offer = {
    tools: tools.map(offered),
    warnings: [],
  };
  return { offer: () => offer };
}

/**
 * Tools of one tenant that a program finds for itself. The offer rejects with TOOL_SOURCE_FAILED: a run that continues must not find its
 * tools gone, and an approval must not be used up.
 */
export function createTenantSource({ name, toolsOf }: TenantToolSource): ToolSource {
  const offers = new WeakMap<readonly Tool[], { readonly tools: readonly Tool[]; readonly offer: ToolOffer }>();
  return {
    offer: async ({ snapshot, signal }) => {
      try {
        const given = await untilAborted(Promise.resolve(toolsOf(snapshot.tenant.id, signal)), signal);
        const before = offers.get(given);
        if (before !== undefined && isSame(before.tools, given)) return before.offer;
        const tools = [...given];
        const offer = { tools: tools.map(checked).map(offered), warnings: [] };
        offers.set(given, { tools, offer });
        return offer;
      } catch (error) {
        signal.throwIfAborted();
        throw new RuntimeError('TOOL_SOURCE_FAILED', { source: name, reason: errorText(error) }, { cause: error });
      }
    },
  };
}

function isSame(one: readonly Tool[], other: readonly Tool[]): boolean {
  return one.length === other.length && one.every((tool, index) => tool === other[index]);
}

/** Throws an Error for a tool that no provider takes. */
function checked(tool: Tool): Tool {
  const name: unknown = tool.definition.name;
  if (typeof name === 'string' && /^[\w-]{1,64}$/.test(name)) return tool;
  throw new Error('the name of a tool must have 1 to 64 letters, digits, _ or -');
}

function offered(given: Tool): OfferedTool {
  const tool = ordinary(given);
  return { name: tool.definition.name, type: 'code', build: () => tool };
}

/** The tool without what only the runtime's own tools may say. What a plug-in gives may be anything. */
function ordinary(tool: Tool): Tool {
  const execute: Tool['execute'] = async (input, context) => {
    const output = (await tool.execute(input, context)) as ToolOutput | undefined;
    if (output?.nextTools === undefined && output?.warnings === undefined) return output as ToolOutput;
    return { ...output, nextTools: undefined, warnings: undefined };
  };
  return { ...tool, loadsSkills: undefined, isUncounted: undefined, execute };
}

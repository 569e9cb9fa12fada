import type { TenantToolSource, Tool } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { describeError } from '../errors/runtime-error';
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

/** Tools of one tenant that a program finds for itself. A run continues without those of a source that fails. */
export function createTenantSource({ name, toolsOf }: TenantToolSource): ToolSource {
  const offers = new WeakMap<readonly Tool[], ToolOffer>();
  return {
    offer: async ({ snapshot, signal }) => {
      try {
        const tools = await untilAborted(Promise.resolve(toolsOf(snapshot.tenant.id, signal)), signal);
        const offer = offers.get(tools) ?? { tools: tools.map(offered), warnings: [] };
        offers.set(tools, offer);
        return offer;
      } catch (error) {
        signal.throwIfAborted();
        const warnings = [describeError('TOOL_SOURCE_FAILED', { source: name, reason: errorText(error) })];
        return { tools: [], warnings, isOfRun: true };
      }
    },
  };
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

import type { Tool } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import type { ToolSource } from './tool-source';

/** Tools of this process, offered to every tenant. */
export function createPluginSource(tools: readonly Tool[]): ToolSource {
  const offer = {
    tools: tools.map(ordinary).map((tool) => ({ name: tool.definition.name, type: 'code', build: () => tool })),
    warnings: [],
  };
  return { offer: () => offer };
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

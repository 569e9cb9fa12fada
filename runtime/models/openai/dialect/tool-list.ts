import type { ToolDefinition } from '../../../contracts/tools/tool-shapes';
import { offeredTool } from '../../tool-schema/offered-tool';
import { type Dialect, toolKey } from './dialect';

/** Returns the `tools` of a request, as JSON. */
export function toolListText(
  tools: readonly ToolDefinition[],
  { plainTools, maxDescription }: Pick<Dialect, 'plainTools' | 'maxDescription'>,
): string {
  const isPlain = (tool: ToolDefinition): boolean =>
    plainTools === 'all' || (plainTools.size > 0 && plainTools.has(toolKey(tool)));
  return JSON.stringify(tools.map((tool) => offeredTool(tool, { isPlain: isPlain(tool), maxDescription })));
}

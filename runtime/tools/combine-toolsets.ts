import type { Tool, Toolset } from '../contracts/tools/tool';
import type { ToolDefinition } from '../contracts/tools/tool-shapes';

/** One toolset of several sources. A name that comes twice belongs to the first source. */
export function createToolset(tools: readonly Tool[]): Toolset {
  const byName = new Map<string, Tool>();
  const definitions: ToolDefinition[] = [];
  for (const tool of tools) {
    const { name } = tool.definition;
    if (byName.has(name)) continue;
    byName.set(name, tool);
    definitions.push(tool.definition);
  }
  return { definitions, find: (name) => byName.get(name) };
}

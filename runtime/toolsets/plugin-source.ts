import type { Tool } from '../contracts/tools/tool';
import type { ToolSource } from './tool-source';

/** Tools of this process, offered to every tenant. */
export function createPluginSource(tools: readonly Tool[]): ToolSource {
  const offer = {
    tools: tools.map((tool) => ({ name: tool.definition.name, type: 'code', build: () => tool })),
    warnings: [],
  };
  return { offer: () => offer };
}

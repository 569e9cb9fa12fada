import type { ToolDefinition } from '../../../contracts/tools/tool';
import { baseSchema } from '../../tool-schema/base-schema';
import { plainSchema } from '../../tool-schema/plain-schema';
import { type Dialect, toolKey } from './dialect';

/** Returns the `tools` of a request, as JSON. */
export function toolListText(
  tools: readonly ToolDefinition[],
  { plainTools, maxDescription }: Pick<Dialect, 'plainTools' | 'maxDescription'>,
): string {
  const isPlain = (tool: ToolDefinition): boolean =>
    plainTools === 'all' || (plainTools.size > 0 && plainTools.has(toolKey(tool)));
  return `[${tools.map((tool) => toolText(tool, { isPlain: isPlain(tool), maxDescription })).join(',')}]`;
}

interface ToolForm {
  readonly isPlain?: boolean;
  readonly maxDescription?: number;
}

/** Returns a tool as it is offered. */
export function toolText(
  { name, description, inputSchema }: ToolDefinition,
  { isPlain = false, maxDescription = Infinity }: ToolForm = {},
): string {
  const { schema, note } = isPlain ? plainSchema(inputSchema) : baseSchema(inputSchema);
  const words = note === '' ? description : `${description}\n\n${note}`;
  const offered = words.length > maxDescription ? words.slice(0, maxDescription).toWellFormed() : words;
  return JSON.stringify({ type: 'function', function: { name, description: offered, parameters: schema } });
}

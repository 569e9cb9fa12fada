import type { ToolDefinition } from '../../contracts/tools/tool';
import type { JsonObject } from '../../util/json';
import { baseSchema } from './base-schema';
import { plainSchema } from './plain-schema';

interface ToolForm {
  /** The schema is in the plain form. Default false. */
  readonly isPlain?: boolean;
  /** Characters of the description that are kept. Default all. */
  readonly maxDescription?: number;
}

/** Returns a tool in the form of OpenAI's chat API, with a schema that providers take. */
export function offeredTool(
  { name, description, inputSchema }: ToolDefinition,
  { isPlain = false, maxDescription = Infinity }: ToolForm = {},
): JsonObject {
  const { schema, note } = isPlain ? plainSchema(inputSchema) : baseSchema(inputSchema);
  const words = note === '' ? description : `${description}\n\n${note}`;
  const offered = words.length > maxDescription ? words.slice(0, maxDescription).toWellFormed() : words;
  return { type: 'function', function: { name, description: offered, parameters: schema } };
}

/** Reports a model that is known to take the plain form only. */
export function takesPlainOnly(modelId: string): boolean {
  return /\bgemini\b/i.test(modelId);
}

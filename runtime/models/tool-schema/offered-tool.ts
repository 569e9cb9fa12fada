import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import type { JsonObject } from '../../util/json';
import { baseSchema } from './base-schema';
import { plainSchema } from './plain-schema';

interface ToolForm {
  /** The schema is in the plain form. Default false. */
  readonly isPlain?: boolean;
  /** Maximum length of the description in characters. Default unlimited. */
  readonly maxDescription?: number;
}

/** Returns a tool as OpenAI's chat API describes it, with a schema that providers accept. */
export function offeredTool(
  { name, description, inputSchema }: ToolDefinition,
  { isPlain = false, maxDescription = Infinity }: ToolForm = {},
): JsonObject {
  const { schema, note } = isPlain ? plainSchema(inputSchema) : baseSchema(inputSchema);
  const words = note === '' ? description : `${description}\n\n${note}`;
  const offered = words.length > maxDescription ? words.slice(0, maxDescription).toWellFormed() : words;
  return { type: 'function', function: { name, description: offered, parameters: schema } };
}

/** Reports a model whose provider accepts the plain form only. */
export function takesPlainOnly(modelId: string): boolean {
  return /\bgemini\b/i.test(modelId);
}

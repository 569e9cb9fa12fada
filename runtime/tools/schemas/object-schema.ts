import { isJsonObject, type JsonObject } from '../../util/json';

export const NO_ARGUMENTS: JsonObject = { type: 'object', properties: {} };

/**
 * The schema of a tool's arguments as providers take it: they refuse the whole request for one tool whose schema has no type or
 * no properties. Throws an Error, whose text calls it `name`.
 */
export function objectSchema(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) throw new Error(`its ${name} is not a JSON object`);
  if (value.type !== undefined && value.type !== 'object') throw new Error(`its ${name} is not of type object`);
  return value.type !== undefined && value.properties !== undefined ? value : { ...NO_ARGUMENTS, ...value };
}

import { isJsonObject, type JsonObject } from '../../util/json';

/** An argument of a tool. */
export interface ToolParameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

/** Returns the arguments that a schema declares, as a list for people and planners. */
export function parametersOf({ properties, required }: JsonObject): readonly ToolParameter[] {
  const isRequired = new Set(Array.isArray(required) ? (required as unknown[]) : []);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    required: isRequired.has(name),
  }));
}

function typeOf(schema: unknown): string {
  const type = isJsonObject(schema) ? schema.type : undefined;
  if (Array.isArray(type)) return type.join(' | ');
  return typeof type === 'string' ? type : 'any';
}

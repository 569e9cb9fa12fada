import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import type { WorkflowNode } from './contract';

/** What `options.systemMessage` leads to; undefined where it leads nowhere. */
export function parameterAt(parameters: JsonObject, path: string): JsonValue | undefined {
  let inner: JsonValue | undefined = parameters;
  for (const key of path.split('.')) {
    if (!isJsonObject(inner) || !Object.hasOwn(inner, key)) return undefined;
    inner = inner[key];
  }
  return inner;
}

export function isExpression(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value.startsWith('=');
}

/** `agent` of `@n8n/n8n-nodes-langchain.agent`; the whole type for nodes of other packages than n8n's own. */
export function kindOf({ type }: WorkflowNode): string {
  const match = /^(?:@n8n\/n8n-nodes-langchain|n8n-nodes-base)\.(.+)$/.exec(type);
  return match?.[1] ?? type;
}

/** A copy without the keys whose values are undefined. */
export function withoutUndefined(values: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

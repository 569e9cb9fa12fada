import { isJsonObject, type JsonValue } from '../../util/json';

/** Parameters that hold code as it is, without a `=` before it. */
const CODE_PARAMETERS: ReadonlySet<string> = new Set(['jsCode', 'functionCode', 'pythonCode', 'code', 'jsonOutput']);

/** Every text among the parameters in which n8n looks for the names of nodes. */
export function* codeTexts(value: JsonValue, key = ''): Generator<string> {
  if (typeof value === 'string') {
    if (isCode(value, key)) yield value;
  } else if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) yield* codeTexts(item, key);
  } else if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) yield* codeTexts(inner, name);
  }
}

/** The same parameters with every such text changed; the very same value when none of them is. */
export function mapCodeTexts(value: JsonValue, change: (text: string) => string, key = ''): JsonValue {
  if (typeof value === 'string') return isCode(value, key) ? change(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const before = value as readonly JsonValue[];
    const items = before.map((item) => mapCodeTexts(item, change, key));
    return items.every((item, index) => item === before[index]) ? before : items;
  }
  const entries = Object.entries(value).map(([name, inner]) => [name, mapCodeTexts(inner, change, name)] as const);
  const isSame = entries.every(([name, inner]) => inner === (value as Readonly<Record<string, JsonValue>>)[name]);
  return isSame ? value : Object.fromEntries(entries);
}

function isCode(text: string, key: string): boolean {
  return text.startsWith('=') || CODE_PARAMETERS.has(key);
}

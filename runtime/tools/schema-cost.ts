import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';

/** More steps than this for one value and the schema is a trap; honest ones stay below a thousand. */
const MAX_COST = 100_000;

/**
 * Throws when checking a value against the schema could take for ever: references that multiply at each level, or that
 * lead back to themselves without going into the value. Remote references are left to the compiler, which refuses them.
 */
export function assertBoundedSchema(schema: JsonObject): void {
  const known = new Map<JsonObject, number>();
  const cost = (node: JsonValue | undefined, path: ReadonlySet<JsonObject>): number => {
    if (Array.isArray(node)) return (node as JsonValue[]).reduce((sum: number, item) => sum + cost(item, path), 0);
    if (!isJsonObject(node)) return 0;
    const before = known.get(node);
    if (before !== undefined) return before;
    // A type may hold itself, as a tree does: then the value decides how often it is gone through.
    if (path.has(node)) return 1;
    const inner = new Set(path).add(node);
    const target = typeof node.$ref === 'string' ? resolveLocal(schema, node.$ref) : undefined;
    const total = Object.values(node).reduce((sum: number, child) => sum + cost(child, inner), 1 + cost(target, inner));
    if (total > MAX_COST) throw new Error('its references multiply beyond all bounds');
    known.set(node, total);
    return total;
  };
  cost(schema, new Set());
}

/** What `#/$defs/name` points to; undefined for anchors and remote references. */
function resolveLocal(root: JsonObject, ref: string): JsonValue | undefined {
  if (!ref.startsWith('#/')) return ref === '#' ? root : undefined;
  let node: JsonValue | undefined = root;
  for (const part of ref.slice(2).split('/')) {
    const key = decodePointer(part);
    if (Array.isArray(node)) node = (node as JsonValue[])[Number(key)];
    else node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  }
  return node;
}

function decodePointer(part: string): string {
  const text = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

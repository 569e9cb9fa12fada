import { isJsonObject, type JsonObject, type JsonValue, textsIn, tryParseJson } from '../../util/json';
import { isOfType } from '../../util/json-schema/subschemas';
import { contentText, type McpContent } from '../content';

/** Key in a tool's `_meta` that marks it as unusable. */
export const FAULT_KEY = 'universal-ai-agent/fault';

const FAULT: JsonObject = { [FAULT_KEY]: true };

/**
 * Returns the result of a request in the form that both generations of the protocol demand, so that one odd field costs that
 * field, and one odd tool that tool. `null` counts as absent. Results of other methods are left as they are.
 */
export function tidyResult(method: string, result: JsonValue): JsonValue {
  if (method === 'tools/call') return tidyCall(result);
  return method === 'tools/list' && isJsonObject(result) && Array.isArray(result.tools) ? tidyList(result) : result;
}

function tidyList({ tools, nextCursor, ttlMs, ...rest }: JsonObject): JsonObject {
  const cursor = typeof nextCursor === 'number' ? String(nextCursor) : nextCursor;
  return {
    ...withoutNull(rest),
    resultType: typeof rest.resultType === 'string' ? rest.resultType : 'complete',
    ttlMs: Number.isInteger(ttlMs) && Number(ttlMs) > 0 ? Number(ttlMs) : 0,
    cacheScope: rest.cacheScope === 'public' ? 'public' : 'private',
    tools: (tools as JsonValue[]).map(tidyTool),
    ...(typeof cursor === 'string' ? { nextCursor: cursor } : {}),
  };
}

/** Keeps the fields that the runtime reads. The output schema is not one of them. */
function tidyTool(tool: JsonValue): JsonObject {
  if (!isJsonObject(tool)) return { name: '', inputSchema: { type: 'object' }, _meta: FAULT };
  const { name, description, annotations } = tool;
  const schema = tidySchema(tool.inputSchema);
  const isFaulty = typeof name !== 'string' || schema === undefined;
  return {
    name: typeof name === 'string' ? name : '',
    ...(typeof description === 'string' ? { description } : {}),
    ...(isJsonObject(annotations) ? { annotations: tidyHints(annotations) } : {}),
    inputSchema: schema ?? { type: 'object' },
    ...(isFaulty ? { _meta: FAULT } : {}),
  };
}

function tidyHints(annotations: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(annotations).filter(([, value]) => typeof value === 'boolean'));
}

/** Returns undefined unless the schema describes an object. PHP encodes an empty object as an empty list. */
function tidySchema(schema: JsonValue | undefined): JsonObject | undefined {
  if (isEmptyList(schema ?? [])) return { type: 'object' };
  if (!isJsonObject(schema)) return undefined;
  const { type = 'object', properties = {}, required, ...rest } = withoutNull(schema);
  const fields = isEmptyList(properties) ? {} : properties;
  if (!isOfType(type, 'object') || !isJsonObject(fields)) return undefined;
  const names = textsIn(required);
  return { ...rest, type: 'object', properties: fields, ...(names.length === 0 ? {} : { required: names }) };
}

/** Size limit of answers that are parsed and written again. */
const MAX_MENDED_BYTES = 1024 * 1024;
/** Bytes of an answer that are searched for its `result`. */
const HEAD_BYTES = 300;
const PLAIN_RESULT = /"result"\s*:\s*[^\s{]/;
const NO_META = ['"_meta":null', '"_meta": null'];

/**
 * Returns an answer of JSON-RPC in the form that the SDK's transport reads. It takes one whose result is no object, or has null
 * as `_meta`, for a lost connection.
 */
export function readableAnswer(body: Buffer): Buffer {
  if (body.length > MAX_MENDED_BYTES) return body;
  const isOdd =
    PLAIN_RESULT.test(body.toString('latin1', 0, HEAD_BYTES)) || NO_META.some((text) => body.includes(text));
  const parsed = isOdd ? tryParseJson(body.toString('utf8')) : undefined;
  if (parsed?.ok !== true || !isJsonObject(parsed.value) || parsed.value.result === undefined) return body;
  const { result } = parsed.value;
  const tidy = isJsonObject(result) ? withoutNull(result) : tidyCall(result);
  return Buffer.from(JSON.stringify({ ...parsed.value, result: tidy }));
}

/** Converts the result of a call, in whatever form it came, to content parts that the protocol knows. */
function tidyCall(result: JsonValue): JsonObject {
  if (!isJsonObject(result)) return { resultType: 'complete', content: tidyContent(result) };
  const { content = null, structuredContent = null, isError, resultType, ...rest } = result;
  if (resultType === 'input_required') return result;
  return {
    ...withoutNull(rest),
    resultType: typeof resultType === 'string' ? resultType : 'complete',
    content: tidyContent(content),
    ...(structuredContent === null ? {} : { structuredContent }),
    ...(isError === true || isError === 'true' ? { isError: true } : {}),
  };
}

function tidyContent(content: JsonValue): JsonObject[] {
  const parts = Array.isArray(content) ? (content as JsonValue[]) : [content];
  return parts.filter((part) => part !== null).map(tidyPart);
}

function tidyPart(part: JsonValue): JsonObject {
  if (!isJsonObject(part)) return textPart(typeof part === 'string' ? part : JSON.stringify(part));
  const known = withoutNull(part);
  if (isKnownPart(known)) return known;
  const isOfKind = typeof known.type === 'string' || typeof known.text === 'string';
  return textPart(isOfKind ? contentText(known as unknown as McpContent) : JSON.stringify(known));
}

function textPart(text: string): JsonObject {
  return { type: 'text', text };
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
};

function isKnownPart(part: JsonObject): boolean {
  const { type, resource } = part;
  if (type === 'resource') return isJsonObject(resource) && isResource(resource);
  const fields = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return fields?.every((field) => typeof part[field] === 'string') === true;
}

function isResource({ uri, text, blob }: JsonObject): boolean {
  return typeof uri === 'string' && [text, blob].some((content) => typeof content === 'string');
}

function withoutNull(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}

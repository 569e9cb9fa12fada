import type { ModelRequest } from '../../runtime/contracts/model';
import { type Dialect, toolKey, USUAL } from '../../runtime/models/openai/dialect/dialect';
import { changedDialect, paramsOf } from '../../runtime/models/openai/dialect/read-refusal';
import { readError } from '../../runtime/models/openai/reply-error';
import type { JsonObject, JsonValue } from '../../runtime/util/json';
import { aModelRequest } from '../support/values/model-request';
import golden from './provider-refusals/refusals.json';

/** What a provider was seen to answer, and how the next request differs. */
interface Refusal {
  readonly source: string;
  readonly status: number;
  /** Number of tools in the request, and the names of some by their places. */
  readonly tools: number;
  readonly names?: Readonly<Record<string, string>>;
  readonly body: JsonValue;
  readonly changes: JsonObject;
}

const refusals = golden as unknown as readonly Refusal[];

/** A request that has everything in it that providers were seen to refuse. */
function requestOf(tools: number, names: Readonly<Record<string, string | undefined>>): ModelRequest {
  const inputSchema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } };
  const named = Array.from({ length: tools }, (_none, index) => names[index] ?? `t${index}`);
  const original = { from: 'm', fields: { reasoning: 'r', reasoning_content: 'r' } };
  return aModelRequest({
    messages: [{ role: 'assistant', content: null, original }],
    tools: named.map((name) => ({ name, description: name, inputSchema })),
    toolChoice: 'required',
    parallelToolCalls: false,
    temperature: 0.5,
    maxTokens: 100,
    onDelta: () => undefined,
  });
}

/** Returns what differs from the usual dialect, with tools by name. */
function changesOf(dialect: Dialect, { tools }: ModelRequest): JsonObject {
  const names = new Map(tools.map((tool) => [toolKey(tool), tool.name]));
  const changed = Object.entries(dialect).filter(([key, value]) => value !== USUAL[key as keyof Dialect]);
  return Object.fromEntries(changed.map(([key, value]) => [key, readable(value as unknown, names)]));
}

function readable(value: unknown, names: ReadonlyMap<string, string>): JsonValue {
  if (!(value instanceof Map) && !(value instanceof Set)) return value as JsonValue;
  return [...(value as ReadonlySet<string>).keys()].map((key) => names.get(key) ?? key);
}

it.each(refusals.map((refusal) => [refusal.source, refusal] as const))('%s', (_source, refusal) => {
  const { status, tools, names = {}, body, changes } = refusal;
  const error = readError((Array.isArray(body) ? body[0] : body) as JsonObject, true);
  const words = error?.message ?? '';
  const said = { status, words, params: paramsOf(error ?? null), reason: words };
  const request = requestOf(tools, names);
  expect(changesOf(changedDialect(said, request, USUAL) ?? USUAL, request)).toEqual(changes);
});

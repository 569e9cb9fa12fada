import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

type Fields = Record<string, JsonValue | undefined>;

/** A reply under construction: what the provider would have sent at once. */
export interface MergedReply {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: Fields[];
  finishReason: JsonValue | undefined;
  hasChoice: boolean;
  /** Characters of it so far. */
  size: number;
}

export function openReply(): MergedReply {
  return { fields: {}, message: { role: 'assistant', content: null }, calls: [], finishReason: undefined, hasChoice: false, size: 0 };
}

/** Adds one chunk (`chat.completion.chunk`), and gives its text and reasoning. */
export function mergeChunk(reply: MergedReply, chunk: JsonObject): { readonly text: string; readonly reasoning: string } {
  for (const key of ['id', 'model', 'provider']) reply.fields[key] ??= chunk[key];
  // Every chunk of some providers has the sum so far; the last one counts.
  for (const key of ['usage', 'error']) if (chunk[key] !== undefined && chunk[key] !== null) reply.fields[key] = chunk[key];
  const choice = Array.isArray(chunk.choices) ? (chunk.choices as JsonValue[]).find(isFirst) : undefined;
  if (!isJsonObject(choice)) return { text: '', reasoning: '' };
  reply.hasChoice = true;
  if (choice.finish_reason !== undefined && choice.finish_reason !== null) reply.finishReason = choice.finish_reason;
  if (isJsonObject(choice.error)) reply.fields.error = choice.error;
  const delta = isJsonObject(choice.delta) ? choice.delta : {};
  return mergeDelta(reply, delta);
}

function isFirst(choice: JsonValue): boolean {
  return isJsonObject(choice) && (choice.index === undefined || choice.index === 0);
}

function mergeDelta(reply: MergedReply, delta: JsonObject): { readonly text: string; readonly reasoning: string } {
  const { message } = reply;
  const text = append(reply, 'content', delta.content);
  const reasoning = append(reply, 'reasoning', delta.reasoning);
  const content = append(reply, 'reasoning_content', delta.reasoning_content);
  if (Array.isArray(delta.content)) message.content = [...listOf(message.content), ...(delta.content as JsonValue[])];
  if (Array.isArray(delta.reasoning_details)) message.reasoning_details = mergeDetails(message, delta.reasoning_details);
  if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as JsonValue[]) mergeCall(reply, call);
  return { text: text + partsText(delta.content), reasoning: reasoning || content };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(value)) return value as JsonValue[];
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : [];
}

function partsText(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return '';
  return (content as JsonValue[])
    .map((part) => (isJsonObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function append(reply: MergedReply, key: string, piece: JsonValue | undefined): string {
  if (typeof piece !== 'string') return '';
  const before = reply.message[key];
  reply.message[key] = (typeof before === 'string' ? before : '') + piece;
  reply.size += piece.length;
  return piece;
}

/** Pieces of one block have its index; the text and what else grows are put together. */
function mergeDetails(message: Fields, pieces: JsonValue): JsonValue[] {
  const details = [...(Array.isArray(message.reasoning_details) ? (message.reasoning_details as JsonValue[]) : [])];
  for (const piece of pieces as JsonValue[]) {
    const last = details.at(-1);
    if (!isJsonObject(piece) || !isJsonObject(last) || last.type !== piece.type || last.index !== piece.index) {
      details.push(piece);
      continue;
    }
    details[details.length - 1] = joined(last, piece);
  }
  return details;
}

const GROWING = ['text', 'summary', 'data'];

function joined(last: JsonObject, piece: JsonObject): JsonObject {
  const grown = GROWING.filter((key) => typeof piece[key] === 'string' && typeof last[key] === 'string').map(
    (key) => [key, `${last[key] as string}${piece[key] as string}`] as const,
  );
  const given = Object.entries(piece).filter(([, value]) => value !== null && value !== undefined);
  return { ...last, ...Object.fromEntries(given), ...Object.fromEntries(grown) };
}

/** Some providers leave out the index: then a new id begins a new call, and anything else goes on with the last one. */
function mergeCall(reply: MergedReply, piece: JsonValue): void {
  if (!isJsonObject(piece)) return;
  const call = callOf(reply.calls, piece);
  const [fn, given] = [call.function as Fields, isJsonObject(piece.function) ? piece.function : {}];
  if (typeof piece.id === 'string' && piece.id !== '') call.id ??= piece.id;
  if (typeof given.name === 'string' && given.name !== '') fn.name ??= given.name;
  const text = given.arguments;
  if (typeof text === 'string') {
    fn.arguments = (typeof fn.arguments === 'string' ? fn.arguments : '') + text;
    reply.size += text.length;
  } else if (text !== undefined && text !== null) fn.arguments = text;
}

function callOf(calls: Fields[], { index, id }: JsonObject): Fields {
  const isNew = typeof id === 'string' && id !== '' && !calls.some((call) => call.id === id);
  const known = typeof index === 'number' ? calls.find((call) => call.index === index) : isNew ? undefined : calls.at(-1);
  if (known !== undefined) return known;
  const call: Fields = { type: 'function', function: {} };
  if (typeof index === 'number') call.index = index;
  calls.push(call);
  return call;
}

/** As the provider sends it unstreamed. */
export function toBody({ fields, message, calls, finishReason, hasChoice }: MergedReply): JsonObject {
  const toolCalls = calls.map(({ index: _index, ...call }) => call);
  const whole = { ...message, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) };
  const choice = { index: 0, message: whole, finish_reason: finishReason ?? null };
  return { ...fields, choices: hasChoice ? [choice] : [] } as JsonObject;
}

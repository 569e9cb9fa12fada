import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json';

type Fields = Record<string, JsonValue | undefined>;

/** Limit of calls, content parts and reasoning blocks in one reply, far above what models write. */
const MOST_PARTS = 10_000;

/** A reply under construction: what the provider would have sent at once. */
export interface MergedReply {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: Fields[];
  /** Calls by the index that their pieces name. */
  readonly byIndex: Map<number, Fields>;
  readonly ids: Set<JsonValue | undefined>;
  finishReason: JsonValue | undefined;
  hasChoice: boolean;
  /** Characters of it so far. */
  size: number;
  parts: number;
}

export function openReply(): MergedReply {
  return {
    fields: {},
    message: { role: 'assistant', content: null },
    calls: [],
    byIndex: new Map(),
    ids: new Set(),
    finishReason: undefined,
    hasChoice: false,
    size: 0,
    parts: 0,
  };
}

interface Shown {
  readonly text: string;
  readonly reasoning: string;
}

const NOTHING: Shown = { text: '', reasoning: '' };

/** Adds one chunk (`chat.completion.chunk`), and gives its text and reasoning. */
export function mergeChunk(reply: MergedReply, chunk: JsonObject): Shown {
  const { fields } = reply;
  for (const key of ['id', 'model', 'provider']) fields[key] ??= chunk[key];
  fields.usage = highest(fields.usage, chunk.usage);
  fields.error = chunk.error ?? fields.error;
  const choice = Array.isArray(chunk.choices) ? (chunk.choices as JsonValue[]).find(isFirst) : undefined;
  if (!isJsonObject(choice)) return NOTHING;
  reply.hasChoice = true;
  // Some write an empty one into every chunk.
  reply.finishReason ||= choice.finish_reason;
  fields.error = choice.error ?? fields.error;
  return hasTooMany(reply) ? NOTHING : mergeDelta(reply, choice.delta);
}

/** Reports a reply over the limit of parts; only its usage is still read. */
export function hasTooMany({ parts }: MergedReply): boolean {
  return parts > MOST_PARTS;
}

/** More counts than any provider reports. */
const MOST_COUNTS = 100;

/** The higher of two readings of the usage, count by count: some providers send running totals, some zeros at the end. */
function highest(before: JsonValue | undefined, now: JsonValue | undefined): JsonValue | undefined {
  if (typeof before === 'number' && typeof now === 'number') return Math.max(before, now);
  if (!isJsonObject(before) || !isJsonObject(now)) return now ?? before;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  if (keys.length > MOST_COUNTS) return now;
  return Object.fromEntries(keys.map((key) => [key, highest(before[key], now[key]) ?? null]));
}

function isFirst(choice: JsonValue): boolean {
  return isJsonObject(choice) && (choice.index === undefined || choice.index === 0);
}

function mergeDelta(reply: MergedReply, delta: JsonValue | undefined): Shown {
  if (!isJsonObject(delta)) return NOTHING;
  const { message } = reply;
  const text = append(reply, 'content', delta.content);
  const reasoning = append(reply, 'reasoning', delta.reasoning);
  const content = append(reply, 'reasoning_content', delta.reasoning_content);
  if (Array.isArray(delta.content)) {
    const parts = (message.content = listOf(message.content));
    for (const part of delta.content as JsonValue[]) add(reply, parts, part);
  }
  if (Array.isArray(delta.reasoning_details)) {
    const details = (message.reasoning_details = listOf(message.reasoning_details));
    for (const piece of delta.reasoning_details as JsonValue[]) mergeDetail(reply, details, piece);
  }
  if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as JsonValue[]) mergeCall(reply, call);
  return { text: text + partsText(delta.content), reasoning: reasoning || content };
}

function add<T extends JsonValue | Fields>(reply: MergedReply, list: T[], item: T): void {
  list.push(item);
  reply.parts++;
  reply.size += JSON.stringify(item).length;
}

/** The list itself, or a new list that begins with the text. */
function listOf(value: JsonValue | undefined): JsonValue[] {
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

/** Joins pieces of one block, which share its index: growing texts are appended, other fields replaced. */
function mergeDetail(reply: MergedReply, details: JsonValue[], piece: JsonValue): void {
  const last = details.at(-1);
  if (!isJsonObject(piece) || !isJsonObject(last) || last.type !== piece.type || last.index !== piece.index) {
    add(reply, details, piece);
    return;
  }
  for (const [key, value] of Object.entries(piece))
    if (value !== null) setField(last, key, joined(last[key], key, value));
  reply.size += JSON.stringify(piece).length;
}

const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

function joined(before: JsonValue | undefined, key: string, piece: JsonValue): JsonValue {
  return GROWING.has(key) && typeof before === 'string' && typeof piece === 'string' ? before + piece : piece;
}

/** Assigns any key, `__proto__` included, as the JSON parser does. */
function setField(target: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function mergeCall(reply: MergedReply, piece: JsonValue): void {
  if (!isJsonObject(piece)) return;
  const call = callOf(reply, piece);
  const given = isJsonObject(piece.function) ? piece.function : {};
  // Some send id and name with every piece.
  call.id ||= piece.id;
  reply.ids.add(call.id);
  const fn = call.function as Fields;
  fn.name ||= given.name;
  if (typeof given.arguments !== 'string') fn.arguments ??= given.arguments;
  else {
    fn.arguments = (typeof fn.arguments === 'string' ? fn.arguments : '') + given.arguments;
    reply.size += given.arguments.length;
  }
}

/** Some providers leave out the index: then a new id begins a new call, and anything else goes on with the last one. */
function callOf(reply: MergedReply, piece: JsonObject): Fields {
  const known = knownCall(reply, piece);
  if (known !== undefined) return known;
  const call: Fields = { type: 'function', function: {} };
  if (typeof piece.index === 'number') reply.byIndex.set(piece.index, call);
  add(reply, reply.calls, call);
  return call;
}

function knownCall({ calls, byIndex, ids }: MergedReply, { index, id }: JsonObject): Fields | undefined {
  if (typeof index === 'number') return byIndex.get(index);
  const isNew = typeof id === 'string' && id !== '' && !ids.has(id);
  return isNew ? undefined : calls.at(-1);
}

/** The reply as the provider sends it unstreamed. */
export function toBody({ fields, message, calls, finishReason, hasChoice }: MergedReply): JsonObject {
  const whole = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  const choice = { index: 0, message: whole, finish_reason: finishReason ?? null };
  return { ...fields, choices: hasChoice ? [choice] : [] } as JsonObject;
}

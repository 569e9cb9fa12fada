import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

type Fields = Record<string, JsonValue | undefined>;

/** Calls, parts of content and blocks of reasoning in one reply: more than any model writes. */
const MOST_PARTS = 10_000;

/** A reply under construction: what the provider would have sent at once. */
export interface MergedReply {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: Fields[];
  /** The same, by what their pieces say. */
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
  // Every chunk of some providers has the sum so far; the last one counts.
  for (const key of ['usage', 'error']) fields[key] = chunk[key] ?? fields[key];
  const choice = Array.isArray(chunk.choices) ? (chunk.choices as JsonValue[]).find(isFirst) : undefined;
  if (!isJsonObject(choice)) return NOTHING;
  reply.hasChoice = true;
  reply.finishReason = choice.finish_reason ?? reply.finishReason;
  fields.error = choice.error ?? fields.error;
  return hasTooMany(reply) ? NOTHING : mergeDelta(reply, choice.delta);
}

/** Then nothing more of it is taken but what it used. */
export function hasTooMany({ parts }: MergedReply): boolean {
  return parts > MOST_PARTS;
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
  // What is within it is no piece of anything, so it comes once.
  reply.size += JSON.stringify(item).length;
}

/** The list that it is, or that a text begins. */
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

/** Pieces of one block have its index; the text and what else grows are put together. */
function mergeDetail(reply: MergedReply, details: JsonValue[], piece: JsonValue): void {
  const last = details.at(-1);
  if (!isJsonObject(piece) || !isJsonObject(last) || last.type !== piece.type || last.index !== piece.index) {
    add(reply, details, piece);
    return;
  }
  details[details.length - 1] = joined(last, piece);
  reply.size += GROWING.reduce((sum, key) => sum + (typeof piece[key] === 'string' ? piece[key].length : 0), 0);
}

const GROWING = ['text', 'summary', 'data'];

function joined(last: JsonObject, piece: JsonObject): JsonObject {
  const grown = GROWING.filter((key) => typeof piece[key] === 'string' && typeof last[key] === 'string').map(
    (key) => [key, `${last[key] as string}${piece[key] as string}`] as const,
  );
  const given = Object.entries(piece).filter(([, value]) => value !== null);
  return { ...last, ...Object.fromEntries(given), ...Object.fromEntries(grown) };
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

import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json';
import { highest, usageIn } from '../../read-usage';
import { contentText, REFUSAL_GAP, textOfMessage, textOfPart } from '../content-parts';
import { isFinishReason, readFinishReason } from '../finish-reason';
import { MESSAGE_FIELDS, ownFields } from '../own-fields';
import { readError } from '../reply-error';
import { mergeCall, type MergedCalls, noCalls, toToolCalls } from './merge-calls';

type Fields = Record<string, JsonValue | undefined>;

/** Limit of calls, content parts and reasoning blocks in one reply, far above what models write. */
const MOST_PARTS = 10_000;

/** A reply under construction: what the provider would have sent at once. */
export interface MergedReply {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: MergedCalls;
  finishReason: JsonValue | undefined;
  hasChoice: boolean;
  /** Characters of it so far. */
  size: number;
  parts: number;
  /** Text that arrived in place of a chunk. */
  words?: string;
}

export function openReply(): MergedReply {
  return {
    fields: {},
    message: { role: 'assistant', content: null },
    calls: noCalls(),
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
export function mergeChunk(reply: MergedReply, chunk: JsonObject, isError: boolean): Shown {
  const { fields } = reply;
  for (const key of ['id', 'model', 'provider']) fields[key] ??= chunk[key];
  const choice = ourChoice(chunk.choices);
  fields.usage = highest(fields.usage, usageIn(chunk, choice));
  fields.error ??= readError(chunk, isError);
  if (choice === undefined) return NOTHING;
  reply.hasChoice = true;
  reply.finishReason = laterReason(reply.finishReason, choice.finish_reason);
  return hasTooMany(reply) ? NOTHING : mergeDelta(reply, deltaOf(reply, choice));
}

/** Returns the first finish reason, unless a later one says that the reply is not whole: some proxies end each stream with `stop`. */
function laterReason(before: JsonValue | undefined, now: JsonValue | undefined): JsonValue | undefined {
  if (!isFinishReason(now)) return before;
  return isFinishReason(before) && readFinishReason(now) === 'stop' ? before : now;
}

/** Returns the only choice, whatever its index: each request asks for one answer. */
function ourChoice(choices: JsonValue | undefined): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  const all = (choices as JsonValue[]).filter(isJsonObject);
  return all.find(({ index }) => index === 0) ?? all[0];
}

/** Returns `delta`, or `message` if it replaces it. Skips a message that repeats the whole answer at its end. */
function deltaOf(
  { message, calls }: MergedReply,
  { delta, message: whole, finish_reason: reason }: JsonObject,
): JsonValue | undefined {
  if (!isJsonObject(whole) || (isJsonObject(delta) && Object.keys(delta).length > 0)) return delta;
  if (!isFinishReason(reason)) return whole;
  const text = textOfMessage(message as JsonObject);
  const isKnown = calls.all.length > 0 || (text !== null && text === textOfMessage(whole));
  return isKnown ? undefined : whole;
}

/** Reports a reply over the limit of parts; only its usage is still read. */
export function hasTooMany({ parts }: MergedReply): boolean {
  return parts > MOST_PARTS;
}

function mergeDelta(reply: MergedReply, delta: JsonValue | undefined): Shown {
  if (!isJsonObject(delta)) return NOTHING;
  const { message } = reply;
  const reasoning = append(reply, 'reasoning', delta.reasoning);
  const content = append(reply, 'reasoning_content', delta.reasoning_content);
  if (Array.isArray(delta.reasoning_details)) {
    const details = (message.reasoning_details = listOf(message.reasoning_details));
    for (const piece of delta.reasoning_details as JsonValue[]) mergeDetail(reply, details, piece);
  }
  addOwn(reply, ownFields(delta, MESSAGE_FIELDS));
  if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as JsonValue[]) addCall(reply, call);
  const text = message.refusal === undefined ? addContent(reply, delta.content) : '';
  return { text: text + addRefusal(reply, delta), reasoning: reasoning || content };
}

/** Appends a refusal. Content that follows is appended to it, so that the reply keeps the order in which it was shown. */
function addRefusal(reply: MergedReply, { content, refusal }: JsonObject): string {
  const { message } = reply;
  const hasBegun = message.refusal !== undefined;
  const after = hasBegun ? append(reply, 'refusal', contentText(content) ?? undefined) : '';
  if (refusal === '') return after;
  const words = append(reply, 'refusal', refusal);
  return words !== '' && !hasBegun && (contentText(message.content) ?? '') !== '' ? REFUSAL_GAP + words : after + words;
}

/** Keeps the provider's own fields: texts grow, blocks are joined as those of reasoning, anything else is replaced. */
function addOwn(reply: MergedReply, own: JsonObject): void {
  const { message } = reply;
  for (const [key, value] of Object.entries(own)) {
    if (typeof value === 'string') append(reply, key, value);
    else if (Array.isArray(value)) {
      const blocks = (message[key] = listOf(message[key]));
      for (const block of value as JsonValue[]) mergeDetail(reply, blocks, block);
    } else {
      message[key] = value;
      reply.size += JSON.stringify(value).length;
    }
  }
}

function addCall(reply: MergedReply, piece: JsonValue): void {
  if (!isJsonObject(piece)) return;
  const before = reply.calls.all.length;
  reply.size += mergeCall(reply.calls, piece);
  reply.parts += reply.calls.all.length - before;
}

/** Adds content, as text or parts or both in turn, and returns its text. */
function addContent(reply: MergedReply, content: JsonValue | undefined): string {
  const { message } = reply;
  if (!Array.isArray(message.content) && !Array.isArray(content)) return append(reply, 'content', content);
  const parts = (message.content = listOf(message.content));
  const pieces = Array.isArray(content) ? (content as JsonValue[]) : listOf(content);
  for (const piece of pieces) addPart(reply, parts, piece);
  return pieces.map(textOfPart).join('');
}

/** Adds a part; joins it with the last one if both are plain text. */
function addPart(reply: MergedReply, parts: JsonValue[], piece: JsonValue): void {
  const last = parts.at(-1);
  if (isPlainText(piece) && isPlainText(last)) {
    parts[parts.length - 1] = { ...last, text: last.text + piece.text };
    reply.size += piece.text.length;
  } else add(reply, parts, piece);
}

function isPlainText(part: JsonValue | undefined): part is JsonObject & { readonly text: string } {
  return isJsonObject(part) && part.type === 'text' && typeof part.text === 'string' && Object.keys(part).length === 2;
}

function add(reply: MergedReply, list: JsonValue[], item: JsonValue): void {
  list.push(item);
  reply.parts++;
  reply.size += JSON.stringify(item).length;
}

/** The list itself, or a new list that begins with the text. */
function listOf(value: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(value)) return value as JsonValue[];
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : [];
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

const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data', 'thinking']);

function joined(before: JsonValue | undefined, key: string, piece: JsonValue): JsonValue {
  return GROWING.has(key) && typeof before === 'string' && typeof piece === 'string' ? before + piece : piece;
}

/** Assigns any key, `__proto__` included, as the JSON parser does. */
function setField(target: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The reply as the provider sends it unstreamed. */
export function toBody({ fields, message, calls, finishReason, hasChoice }: MergedReply): JsonObject {
  const toolCalls = toToolCalls(calls);
  const whole = { ...message, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) };
  const choice = { index: 0, message: whole, finish_reason: finishReason ?? null };
  return { ...fields, choices: hasChoice ? [choice] : [] };
}

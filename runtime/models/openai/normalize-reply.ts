import type { AssistantMessage, ToolCallMessage } from '../../contracts/message';
import type { ModelReply, ReplyUsage } from '../../contracts/model';
import { RuntimeError } from '../../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { readUsage, usageIn } from '../read-usage';
import { isRefusal, isThinking, textOfMessage } from './content-parts';
import { isFinishReason, readFinishReason } from './finish-reason';
import { CALL_FIELDS, FUNCTION_FIELDS, MESSAGE_FIELDS, ownFields } from './own-fields';
import { writtenText } from './written-text';

/**
 * The vendor's JSON as our ModelReply; what it wants back is kept as that of the model `from`.
 * Throws LLM_BAD_REPLY when there is no assistant message in it.
 */
export function normalizeReply(body: unknown, from = ''): ModelReply {
  if (!isJsonObject(body)) throw badReply('it is not a JSON object');
  const choice = Array.isArray(body.choices) ? (body.choices as JsonValue[])[0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) throw badReply('it has no choices[0].message');
  const message = assistantMessage(choice.message, from);
  return { message, ...endOf(choice, message), ...readReplyUsage(body) };
}

/** Reads the usage of a reply, whatever else it holds; if there is none, everything that the model wrote. */
export function readReplyUsage(reply: JsonObject): ReplyUsage {
  const { model, id, choices } = reply;
  const used = readUsage(usageIn(reply, Array.isArray(choices) ? (choices as JsonValue[])[0] : undefined));
  return {
    ...used,
    ...(used.usage === undefined ? { written: writtenText(reply) } : {}),
    modelReturned: idText(model),
    providerRequestId: idText(id),
  };
}

function badReply(reason: string): RuntimeError {
  return new RuntimeError('LLM_BAD_REPLY', { reason });
}

const MAX_ID_LENGTH = 200;

/** Ids go into the database, which takes neither NUL nor half a surrogate pair. */
function idText(value: JsonValue | undefined): string | undefined {
  return storableText(value).slice(0, MAX_ID_LENGTH) || undefined;
}

function storableText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : '';
}

function assistantMessage(raw: JsonObject, from: string): AssistantMessage {
  const calls = Array.isArray(raw.tool_calls) ? (raw.tool_calls as JsonValue[]).map(toolCall) : [];
  const fields = { ...ownFields(raw, MESSAGE_FIELDS), ...reasoningToGiveBack(raw, calls.length > 0) };
  const isOpaque = Object.keys(fields).length > 0 || calls.some(({ original }) => original !== undefined);
  return {
    role: 'assistant',
    content: textOfMessage(raw),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(isOpaque ? { original: { from, fields } } : {}),
  };
}

/**
 * Blocks of reasoning are given back with every message (OpenRouter). Its plain text only with calls of tools: DeepSeek and Kimi refuse a
 * call without it, also where it is empty, and DeepSeek's first reasoning models, which call no tools, refuse to see it again.
 */
function reasoningToGiveBack(
  { reasoning_details, reasoning_content, reasoning, content }: JsonObject,
  hasCalls: boolean,
): JsonObject | undefined {
  if (reasoning_details !== undefined && reasoning_details !== null) return { reasoning_details };
  if (!hasCalls) return undefined;
  if (typeof reasoning_content === 'string') return { reasoning_content };
  if (Array.isArray(content) && (content as JsonValue[]).some(isThinking)) return { content };
  // Groq refuses an empty one.
  return typeof reasoning === 'string' && reasoning !== '' ? { reasoning } : undefined;
}

/** Arguments come as text, and from some providers as an object, null or nothing. */
function toolCall(raw: JsonValue): ToolCallMessage {
  const call = isJsonObject(raw) ? raw : {};
  const fn = isJsonObject(call.function) ? call.function : {};
  const given = fn.arguments;
  const own = ownFields(call, CALL_FIELDS);
  const ofFunction = ownFields(fn, FUNCTION_FIELDS);
  return {
    // Of any length: some providers keep a signature in it.
    id: storableText(call.id),
    type: 'function',
    function: {
      name: idText(fn.name) ?? '',
      arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}),
    },
    ...(Object.keys({ ...own, ...ofFunction }).length === 0 ? {} : { original: { call: own, function: ofFunction } }),
  };
}

const MAX_WORD_LENGTH = 50;

function endOf(
  { finish_reason: raw, message }: JsonObject,
  { tool_calls: calls }: AssistantMessage,
): Pick<ModelReply, 'finishReason' | 'finishWord'> {
  const finishReason = readFinishReason(raw);
  if (finishReason !== 'stop')
    return { finishReason, finishWord: isFinishReason(raw) ? idText(raw)?.slice(0, MAX_WORD_LENGTH) : undefined };
  if (calls !== undefined) return { finishReason: 'tool-calls' };
  return { finishReason: isJsonObject(message) && isRefusal(message) ? 'refusal' : 'stop' };
}

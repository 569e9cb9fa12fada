import type { AssistantMessage, ToolCallMessage } from '../contracts/message';
import type { FinishReason, ModelReply } from '../contracts/model';
import type { Usage } from '../contracts/usage';
import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';

/** The vendor's JSON as our ModelReply. Throws LLM_BAD_REPLY when there is no assistant message in it. */
export function normalizeReply(body: unknown): ModelReply {
  if (!isJsonObject(body)) throw badReply('it is not a JSON object');
  const choice = Array.isArray(body.choices) ? (body.choices as JsonValue[])[0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) throw badReply('it has no choices[0].message');
  const message = assistantMessage(choice.message);
  const usage = isJsonObject(body.usage) ? body.usage : undefined;
  return {
    message,
    finishReason: finishReason(choice.finish_reason, message),
    usage: usage === undefined ? undefined : readUsage(usage),
    providerCostUsd: decimalText(usage?.cost),
    modelReturned: idText(body.model),
    providerRequestId: idText(body.id),
  };
}

function badReply(reason: string): RuntimeError {
  return new RuntimeError('LLM_BAD_REPLY', { reason });
}

const MAX_ID_LENGTH = 200;

/** Ids go into the database, which takes neither NUL nor half a surrogate pair. */
function idText(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  return value.toWellFormed().replaceAll('\0', '').slice(0, MAX_ID_LENGTH) || undefined;
}

function assistantMessage(raw: JsonObject): AssistantMessage {
  const calls = Array.isArray(raw.tool_calls) ? (raw.tool_calls as JsonValue[]).map(toolCall) : [];
  const reasoning = raw.reasoning_details;
  return {
    role: 'assistant',
    content: contentText(raw.content),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(reasoning === undefined || reasoning === null ? {} : { reasoning_details: reasoning }),
  };
}

/** Content is text, or for some models a list of parts. */
function contentText(content: JsonValue | undefined): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  return (content as JsonValue[])
    .map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

/** Arguments come as text, and from some providers as an object, null or nothing. */
function toolCall(raw: JsonValue): ToolCallMessage {
  const call = isJsonObject(raw) ? raw : {};
  const fn = isJsonObject(call.function) ? call.function : {};
  const given = fn.arguments;
  return {
    id: idText(call.id) ?? '',
    type: 'function',
    function: {
      name: idText(fn.name) ?? '',
      arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}),
    },
  };
}

function finishReason(raw: JsonValue | undefined, message: AssistantMessage): FinishReason {
  if (raw === 'length' || raw === 'max_tokens') return 'length';
  if (raw === 'content_filter') return 'content-filter';
  if (raw === 'error') return 'error';
  return message.tool_calls === undefined ? 'stop' : 'tool-calls';
}

function readUsage(raw: JsonObject): Usage | undefined {
  const promptTokens = count(raw.prompt_tokens);
  const completionTokens = count(raw.completion_tokens);
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const prompt = isJsonObject(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {};
  const completion = isJsonObject(raw.completion_tokens_details) ? raw.completion_tokens_details : {};
  return {
    promptTokens,
    completionTokens,
    cachedTokens: Math.min(count(prompt.cached_tokens) ?? 0, promptTokens),
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    reasoningTokens: Math.min(count(completion.reasoning_tokens) ?? 0, completionTokens),
  };
}

/** No context window is larger; such a figure is nonsense, must not be billed, and would not fit into the ledger. */
const MAX_TOKENS_OF_ONE_CALL = 20_000_000;

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS_OF_ONE_CALL
    ? value
    : undefined;
}

const MAX_COST_OF_ONE_CALL_USD = 100_000;

function decimalText(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > MAX_COST_OF_ONE_CALL_USD)
    return undefined;
  return value.toFixed(12).replace(/\.?0+$/, '');
}

import { type AssistantMessage, contentWithNote, type Message, textOf } from '../../contracts/message';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';

/** What a message of a chat model holds beside text and calls, in a form that goes into the journal. */
interface Blocks {
  readonly calls: readonly string[];
  readonly content?: JsonValue;
  readonly additional_kwargs?: JsonValue;
}

/** Repeated in `tool_calls`, or the whole reply again. */
const REPEATED = new Set(['tool_calls', 'function_call', '__raw_response', 'audio']);

/**
 * A reply of a LangChain chat model as the chat API has it. Blocks of reasoning and what else some models must get back
 * is put into `reasoning_details`.
 */
export function fromChatMessage(reply: JsonObject): JsonObject {
  const calls = [...callsOf(reply.tool_calls), ...callsOf(reply.invalid_tool_calls)];
  const kwargs = isJsonObject(reply.additional_kwargs) ? withoutRepeated(reply.additional_kwargs) : {};
  const blocks = Array.isArray(reply.content) ? { content: reply.content as JsonValue } : {};
  const rest = Object.keys(kwargs).length === 0 ? {} : { additional_kwargs: kwargs };
  const kept: Blocks = { calls: calls.map(({ id }) => id), ...blocks, ...rest };
  const isPlain = kept.content === undefined && kept.additional_kwargs === undefined;
  return {
    content: contentText(reply.content),
    ...(kwargs.refusal === undefined ? {} : { refusal: kwargs.refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => toFunctionCall(call, reply.additional_kwargs)) }),
    ...(isPlain ? {} : { reasoning_details: kept as unknown as JsonValue }),
  };
}

interface ChatCall {
  readonly id: string;
  readonly name: JsonValue;
  readonly args: JsonValue;
}

function callsOf(calls: JsonValue | undefined): readonly ChatCall[] {
  const all = Array.isArray(calls) ? (calls as readonly JsonValue[]) : [];
  return all.filter(isJsonObject).map(({ id, name = '', args = {} }) => ({
    id: typeof id === 'string' ? id : '',
    name,
    args,
  }));
}

/** The arguments of calls that LangChain could not read are text, as the model wrote them. */
function toFunctionCall({ id, name, args }: ChatCall, kwargs: JsonValue | undefined): JsonObject {
  const written = holdsRounded(args) ? writtenArguments(kwargs, id) : undefined;
  return { id, type: 'function', function: { name, arguments: written ?? args } };
}

function holdsRounded(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsRounded);
}

/** Returns arguments as the model wrote them, since LangChain rounds integers beyond 2^53. OpenAI's adapters keep them. */
function writtenArguments(kwargs: JsonValue | undefined, id: string): string | undefined {
  const calls = isJsonObject(kwargs) && Array.isArray(kwargs.tool_calls) ? (kwargs.tool_calls as JsonValue[]) : [];
  const call = calls.filter(isJsonObject).find((one) => one.id === id);
  const text = isJsonObject(call?.function) ? call.function.arguments : undefined;
  return typeof text === 'string' ? text : undefined;
}

function withoutRepeated(kwargs: JsonObject): JsonObject {
  const own = Object.entries(kwargs).filter(([key, value]) => !REPEATED.has(key) && value !== null);
  return Object.fromEntries(own);
}

/** Content is text or a list of blocks, among which may be reasoning. */
function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  const blocks = Array.isArray(content) ? (content as readonly JsonValue[]) : [];
  return blocks
    .flatMap((block) => (isJsonObject(block) && typeof block.text === 'string' ? [block.text] : []))
    .filter((text) => text !== '')
    .join('\n');
}

/** A transcript as plain objects that LangChain makes messages of. `to` is the model that it is for. */
export function toChatMessages(messages: readonly Message[], to: string): readonly object[] {
  const names = new Map<string, string>();
  return messages.map((message, index) => {
    if (message.role === 'tool') {
      const { role, tool_call_id } = message;
      return { role, tool_call_id, content: contentWithNote(message), name: names.get(tool_call_id) };
    }
    // Most providers take a system message at the beginning only.
    if (message.role === 'system') return { role: index === 0 ? 'system' : 'user', content: textOf(message.content) };
    if (message.role === 'user') return { role: 'user', content: textOf(message.content) };
    for (const { id, function: fn } of message.tool_calls ?? []) names.set(id, fn.name);
    return toChatMessage(message, to);
  });
}

function toChatMessage(message: AssistantMessage, to: string): object {
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    type: 'tool_call',
    id,
    name,
    args: parsed(args),
  }));
  const { content, additional_kwargs } = blocksOf(message, to) ?? {};
  return {
    role: 'assistant',
    content: content ?? textOf(message.content),
    tool_calls: calls,
    ...(additional_kwargs === undefined ? {} : { additional_kwargs }),
  };
}

function parsed(text: string): JsonValue {
  const json = tryParseJson(text);
  return json.ok ? json.value : {};
}

/** Undefined for a message of another model, and for one whose calls were changed: its blocks would name others. */
function blocksOf({ original, tool_calls: calls = [] }: AssistantMessage, to: string): Blocks | undefined {
  const kept = original?.from === to ? original.fields.reasoning_details : undefined;
  if (!areBlocks(kept)) return undefined;
  const { calls: before } = kept;
  return before.length === calls.length && calls.every(({ id }, index) => id === before[index]) ? kept : undefined;
}

function areBlocks(kept: unknown): kept is Blocks {
  return isJsonObject(kept) && Array.isArray(kept.calls);
}

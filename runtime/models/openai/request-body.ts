import { contentWithNote, type Message, textOf, type ToolCallMessage } from '../../contracts/message';
import type { ModelRequest } from '../../contracts/model';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import { isList } from '../../util/json';
import { type Dialect, toolsIn, USUAL } from './dialect/dialect';
import { dressMessages } from './dialect/dress-messages';
import { toolListText } from './dialect/tool-list';

// Messages and tool lists are never changed once made, so each is turned into text once,
// however often the growing transcript is sent.
const messageTexts = new WeakMap<Message, string>();
const toolListTexts = new WeakMap<readonly ToolDefinition[], { readonly dialect: Dialect; readonly text: string }>();

/**
 * Returns the body of a chat completion request. Without tools it names neither `tools` nor `tool_choice`. Messages hold what the
 * model `to` wants back of its own.
 */
export function requestBody(request: ModelRequest, to = '', dialect = USUAL): string {
  const messages = dressMessages(request.messages, dialect).map((message) => messageText(message, to));
  const fields = Object.entries(optionalFields(request, dialect)).filter(([name]) => !dialect.fields.has(name));
  return `{${[
    `"model":${JSON.stringify(request.modelId)}`,
    `"messages":[${messages.join(',')}]`,
    ...fields.map(([name, text]) => `"${name}":${text}`),
  ].join(',')}}`;
}

/** Returns the fields that a provider may refuse, as JSON. */
export function optionalFields(request: ModelRequest, dialect: Dialect): Readonly<Record<string, string>> {
  const { tools, temperature, maxTokens, responseFormat, stop } = request;
  const fields: Record<string, string> = {};
  const sent = toolsIn(dialect, tools);
  if (sent.length > 0) {
    fields.tools = listText(tools, sent, dialect);
    fields.tool_choice = `"${request.toolChoice}"`;
    if (!request.parallelToolCalls) fields.parallel_tool_calls = 'false';
  }
  if (request.onDelta !== undefined) {
    fields.stream = 'true';
    if (!dialect.fields.has('stream')) fields.stream_options = '{"include_usage":true}';
  }
  if (temperature !== undefined) fields.temperature = String(temperature);
  if (responseFormat !== undefined) fields.response_format = JSON.stringify(responseFormat);
  if (stop !== undefined) fields.stop = JSON.stringify(stop);
  if (maxTokens !== undefined) fields[limitName(request.modelId, dialect)] = String(maxTokens);
  return fields;
}

function listText(tools: readonly ToolDefinition[], sent: readonly ToolDefinition[], dialect: Dialect): string {
  const known = toolListTexts.get(tools);
  if (known?.dialect === dialect) return known.text;
  const text = toolListText(sent, dialect);
  toolListTexts.set(tools, { dialect, text });
  return text;
}

function messageText(message: Message, to: string): string {
  // Not all providers take parts.
  if (isList(message.content)) return messageText({ ...message, content: textOf(message.content) }, to);
  if (message.role === 'tool' && message.note !== undefined) return remember(messageTexts, message, noteText);
  if (message.role !== 'assistant' || message.original === undefined) {
    return remember(messageTexts, message, JSON.stringify);
  }
  const { original, tool_calls: calls, ...plain } = message;
  const isOwn = original.from === to;
  const write = (): string =>
    JSON.stringify({
      ...plain,
      ...(calls === undefined ? {} : { tool_calls: calls.map((call) => wireCall(call, isOwn)) }),
      ...(isOwn ? original.fields : {}),
    });
  return isOwn ? remember(messageTexts, message, write) : write();
}

function noteText(message: Message): string {
  if (message.role !== 'tool') return JSON.stringify(message);
  const { role, tool_call_id } = message;
  return JSON.stringify({ role, tool_call_id, content: contentWithNote(message) });
}

function wireCall({ original, ...call }: ToolCallMessage, isOwn: boolean): object {
  if (original === undefined || !isOwn) return call;
  return { ...original.call, ...call, function: { ...original.function, ...call.function } };
}

/** OpenAI's reasoning models refuse `max_tokens`. OpenRouter, whose ids begin with a provider, takes it for all. */
function limitName(modelId: string, { renamesLimit }: Dialect): string {
  const isNew = /^(?:o\d|gpt-5(?!-chat))/.test(modelId);
  return isNew === renamesLimit ? 'max_tokens' : 'max_completion_tokens';
}

function remember<K extends object>(texts: WeakMap<K, string>, key: K, make: (key: K) => string): string {
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = make(key);
  texts.set(key, text);
  return text;
}

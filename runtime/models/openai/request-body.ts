import type { Message, ToolCallMessage } from '../../contracts/message';
import type { ModelRequest } from '../../contracts/model';
import type { ToolDefinition } from '../../contracts/tools/tool';

// Messages and tool lists are never changed once made, so each is turned into text once,
// however often the growing transcript is sent.
const messageTexts = new WeakMap<Message, string>();
const toolListTexts = new WeakMap<readonly ToolDefinition[], string>();

/**
 * The body of a chat completion request. Without tools it names neither `tools` nor `tool_choice`. Messages hold what the model
 * `to` wants back of its own.
 */
export function requestBody(request: ModelRequest, to = ''): string {
  const { tools } = request;
  const fields = [
    `"model":${JSON.stringify(request.modelId)}`,
    `"messages":[${request.messages.map((message) => messageText(message, to)).join(',')}]`,
  ];
  if (tools.length > 0) {
    fields.push(`"tools":${remember(toolListTexts, tools, toolListText)}`, `"tool_choice":"${request.toolChoice}"`);
    if (!request.parallelToolCalls) fields.push('"parallel_tool_calls":false');
  }
  if (request.onDelta !== undefined) fields.push('"stream":true,"stream_options":{"include_usage":true}');
  if (request.temperature !== undefined) fields.push(`"temperature":${request.temperature}`);
  if (request.maxTokens !== undefined) fields.push(`"${limitName(request.modelId)}":${request.maxTokens}`);
  return `{${fields.join(',')}}`;
}

function messageText(message: Message, to: string): string {
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

function wireCall({ original, ...call }: ToolCallMessage, isOwn: boolean): object {
  if (original === undefined || !isOwn) return call;
  return { ...original.call, ...call, function: { ...original.function, ...call.function } };
}

/** OpenAI's reasoning models refuse `max_tokens`. OpenRouter, whose ids begin with a provider, takes it for all. */
function limitName(modelId: string): string {
  return /^(?:o\d|gpt-5(?!-chat))/.test(modelId) ? 'max_completion_tokens' : 'max_tokens';
}

function remember<K extends object>(texts: WeakMap<K, string>, key: K, make: (key: K) => string): string {
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = make(key);
  texts.set(key, text);
  return text;
}

function toolListText(tools: readonly ToolDefinition[]): string {
  return JSON.stringify(
    tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    })),
  );
}

import { type AssistantMessage, type Message, textOf, type ToolCallMessage } from '../contracts/message';
import type { ToolChoice } from '../contracts/model';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { JsonValue } from '../util/json';
import type { Redact } from '../util/redaction/redact';
import { stripThinking } from '../util/text/strip-thinking';
import { argumentsOf } from './parse-arguments';

const MAX_NAME_LENGTH = 64;
const SINGLE_TOOL_RULE = 'Call at most one tool at a time, and wait for its result before you call the next.';
const SINGLE_TOOL_REMINDER = 'You called several tools at once. Only the first was executed; call one tool at a time.';
const FINAL_ANSWER_REQUEST = 'You have used all your steps. Answer now with what you have found, ';

/**
 * The opening of a transcript. Context is data, so it stands in a delimited block of the user message,
 * with `<` escaped so that nothing in it can close the block.
 */
export function openTranscript(task: {
  readonly systemPrompt?: string;
  /** Earlier messages. System messages among them move to the top, the only place that all models accept. */
  readonly history?: readonly Message[];
  /** A summary of what came before the history: data, as the context is, so it stands before the first message of the user. */
  readonly summary?: string;
  readonly message: string;
  readonly context?: JsonValue;
  readonly singleTool: boolean;
  /** What tools, and the form of the answer, have to say to the model. */
  readonly instructions?: readonly string[];
}): Message[] {
  const { systemPrompt = '', instructions = [] } = task;
  const rules = [task.singleTool ? SINGLE_TOOL_RULE : '', ...instructions];
  const history = (task.history ?? []).map(withSendable);
  const earlier = history.flatMap((message) => (message.role === 'system' ? [textOf(message.content)] : []));
  const system = [systemPrompt, ...rules, ...earlier].filter((part) => part !== '');
  const { context, summary } = task;
  const facts = context === undefined || context === null ? '' : block('context', JSON.stringify(context));
  const said = joined([
    ...history.filter(({ role }) => role !== 'system'),
    { role: 'user', content: facts + task.message },
  ]);
  return [
    ...(system.length === 0 ? [] : [{ role: 'system', content: system.join('\n\n') } as const]),
    ...(summary === undefined ? said : withSummary(said, summary)),
  ];
}

/** Messages of one side that follow each other, as one: templates of some models refuse two. */
function joined(messages: readonly Message[]): readonly Message[] {
  const said: Message[] = [];
  for (const message of messages) {
    const last = said.at(-1);
    if (last !== undefined && isPlain(last) && isPlain(message) && last.role === message.role) {
      said[said.length - 1] = { ...last, content: `${textOf(last.content)}\n\n${textOf(message.content)}` };
    } else said.push(message);
  }
  return said;
}

function isPlain(message: Message): boolean {
  return message.role !== 'tool' && !('tool_calls' in message);
}

function withSummary(said: readonly Message[], summary: string): readonly Message[] {
  const first = said.findIndex(({ role }) => role === 'user');
  const text = summaryBlock(summary);
  return said.map((message, index) =>
    index === first && message.role === 'user' ? { ...message, content: text + textOf(message.content) } : message,
  );
}

/** The summary as it stands before the first message of the user. */
export function summaryBlock(summary: string): string {
  return block('summary_of_earlier_conversation', summary);
}

/** The text between marks that nothing in it can close. */
export function block(name: string, text: string): string {
  return `<${name}>\n${text.replaceAll('<', '\\u003c')}\n</${name}>\n\n`;
}

/** Adds the one-tool rule to the results of a step that broke it. */
export function withSingleToolReminder(results: readonly Message[]): readonly Message[] {
  return withNote(results, SINGLE_TOOL_REMINDER);
}

/** Adds a request for the final answer; through `answerTool` if there is one. */
export function withFinalAnswerRequest(messages: readonly Message[], answerTool?: string): readonly Message[] {
  const how = answerTool === undefined ? 'without calling tools.' : `with ${answerTool} and no other tool.`;
  return withNote(messages, FINAL_ANSWER_REQUEST + how);
}

/**
 * Adds a note to the last tool result, else as a user message. Chat templates of Mistral reject a user message after a tool
 * result, those of Qwen a system message that is not the first.
 */
function withNote(messages: readonly Message[], words: string): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return [...messages, { role: 'user', content: words }];
  return [...messages.slice(0, -1), { ...last, note: words }];
}

/** Throws an Error for what is no JSON: a plugin may give anything. */
export function toolMessage(toolCallId: string, value: JsonValue): Message {
  const content = JSON.stringify(value ?? null) as string | undefined;
  if (content === undefined) throw new Error('its output is not JSON');
  return { role: 'tool', tool_call_id: toolCallId, content };
}

/** The message of a tool call that ended. Throws an Error for what is no JSON. */
export function outcomeMessage({ id, outcome }: ToolCallRecord): Message {
  const { isError, value = null } = outcome ?? { isError: true };
  return toolMessage(id, isError ? { error: value } : value);
}

/** A reply whose call is the answer, as a message with that answer: what else it asked for is not done any more. */
export function takeAnswer(
  message: AssistantMessage,
  answerTool: string | undefined,
): { readonly message: AssistantMessage; readonly given?: string } {
  const call = message.tool_calls?.find(({ function: { name } }) => name === answerTool);
  if (call === undefined) return { message };
  const given = call.function.arguments;
  return { message: { role: 'assistant', content: given }, given };
}

/**
 * The assistant message with ids that are present and unique in the transcript, so that every call gets
 * exactly one answer. Models do send missing and repeated ids. One that holds a secret is replaced too: ids are kept.
 */
export function withUniqueIds(
  message: AssistantMessage,
  { step, seen, redact }: { readonly step: number; readonly seen: Set<string>; readonly redact?: Redact },
): AssistantMessage {
  if (message.tool_calls === undefined) return message;
  const calls = message.tool_calls.map((call, index): ToolCallMessage => {
    let id = redact === undefined || redact(call.id) === call.id ? call.id : '';
    for (let n = 0; id === '' || seen.has(id); n++) id = `call_${step}_${index}${n === 0 ? '' : `_${n}`}`;
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
  return { ...message, tool_calls: calls };
}

interface AcceptedCalls {
  readonly message: AssistantMessage;
  readonly calls: readonly ToolCallMessage[];
  readonly wereDropped: boolean;
}

/** The calls that will be answered. In single mode only the first stays in the transcript, so that it stays valid. */
export function acceptCalls(
  message: AssistantMessage,
  mode: { readonly toolChoice: ToolChoice; readonly isSingle: boolean },
): AcceptedCalls {
  const calls = message.tool_calls ?? [];
  if (mode.toolChoice === 'none') return { message, calls: [], wereDropped: false };
  const accepted = mode.isSingle ? calls.slice(0, 1) : calls;
  return {
    message: withSendableCalls(message, accepted),
    calls: accepted,
    wereDropped: accepted.length < calls.length,
  };
}

/**
 * A name that a model made up ("functions.find_orders") or arguments that are no JSON object would make providers
 * refuse the whole next request. What was wrong is told in the tool message.
 */
function withSendableCalls(message: AssistantMessage, calls: readonly ToolCallMessage[]): AssistantMessage {
  if (calls.length === 0) return message;
  const sendable = calls.map((call) => {
    const name = call.function.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH) || '_';
    const text = sendableArguments(call);
    return name === call.function.name && text === call.function.arguments
      ? call
      : { ...call, function: { name, arguments: text } };
  });
  return { ...message, tool_calls: sendable };
}

function withSendable(message: Message): Message {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message;
  return withSendableCalls(message, message.tool_calls);
}

function sendableArguments(call: ToolCallMessage): string {
  const text = call.function.arguments;
  const parsed = argumentsOf(call);
  if (!parsed.ok) return '{}';
  return text.startsWith('{') ? text : JSON.stringify(parsed.value);
}

/** The text for people: without the thinking that some models write into it. */
export function answerText({ content }: AssistantMessage): string {
  return stripThinking(textOf(content));
}

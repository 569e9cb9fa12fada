import type { JsonObject } from '../util/json';

/** Content of a message: a text, or parts in their order. */
export type Content = string | readonly ContentPart[];

export interface ContentPart {
  readonly type: 'text';
  readonly text: string;
}

/** Returns the text of a content, with nothing between its parts: providers split texts within sentences. */
export function textOf(content: Content | null): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('');
}

/** One function call as the model wrote it: `arguments` is unparsed text. */
export interface ToolCallMessage {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** Further fields of the call and of its `function`, such as a signature: given back where the message's `original` is. */
  readonly original?: { readonly call: JsonObject; readonly function: JsonObject };
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: Content | null;
  readonly tool_calls?: readonly ToolCallMessage[];
  /** Never a part of the answer, and of no use to another model. */
  readonly original?: OriginalMessage;
  /** Reasoning of a model that is plugged in: it gets it back as it is. */
  readonly reasoning_details?: unknown;
}

/** What a model must get back unchanged, such as its reasoning, in the fields in which it came. */
export interface OriginalMessage {
  /** The model and the provider that it is given back to. */
  readonly from: string;
  readonly fields: JsonObject;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: Content;
  /** Words of the runtime to the model, sent after the content. Not a part of the conversation. */
  readonly note?: string;
}

/** Returns the content that a model is sent: with the note, if there is one. */
export function contentWithNote({ content, note }: ToolMessage): string {
  const text = textOf(content);
  return note === undefined ? text : `${text}\n\n[Not from the tool: ${note}]`;
}

/** One entry of a transcript, in the shape of the OpenAI chat API. Messages are never changed once made. */
export type Message =
  | { readonly role: 'system'; readonly content: Content }
  | { readonly role: 'user'; readonly content: Content }
  | AssistantMessage
  | ToolMessage;

/** Returns the content of a message, and its calls as the model wrote them. */
export function wordsOf(message: Message): string {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const written = calls.map(({ function: { name, arguments: input } }) => `${name} ${input}`);
  return [textOf(message.content), ...written].join('\n');
}

/**
 * The messages without what providers refuse: calls that lack a result, results that lack their call. Such a step is left out
 * whole, as the window of a memory cuts through it; with `keepsText` but for what the assistant said.
 */
export function pairedMessages(messages: readonly Message[], keepsText = false): readonly Message[] {
  const kept: Message[] = [];
  for (let index = 0; index < messages.length;) {
    const step = stepAt(messages, index);
    kept.push(...(isWhole(step) ? step : keepsText ? textOnly(step) : []));
    index += step.length;
  }
  return kept;
}

/** A message, with the results of tools that follow it. */
function stepAt(messages: readonly Message[], start: number): readonly Message[] {
  let end = start + 1;
  while (messages[end]?.role === 'tool') end++;
  // Results belong to the message before them only if that one can have calls.
  return messages[start]?.role === 'assistant' ? messages.slice(start, end) : messages.slice(start, start + 1);
}

function textOnly([first]: readonly Message[]): readonly Message[] {
  if (first?.role !== 'assistant' || textOf(first.content).trim() === '') return [];
  return first.tool_calls === undefined ? [first] : [{ role: 'assistant', content: first.content }];
}

function isWhole([first, ...results]: readonly Message[]): boolean {
  if (first?.role === 'tool') return false;
  const called = first?.role === 'assistant' ? (first.tool_calls ?? []).map(({ id }) => id) : [];
  const answered = new Set(results.map((result) => (result.role === 'tool' ? result.tool_call_id : '')));
  const isEach = called.length === results.length && new Set(called).size === called.length;
  return isEach && called.every((id) => id !== '' && answered.has(id));
}

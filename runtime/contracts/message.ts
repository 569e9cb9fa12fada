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

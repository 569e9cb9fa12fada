/** One function call as the model wrote it: `arguments` is unparsed text. */
export interface ToolCallMessage {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly tool_calls?: readonly ToolCallMessage[];
  /** The provider's reasoning blocks, which some models must get back unchanged. */
  readonly reasoning_details?: unknown;
}

/** One entry of a transcript, in the shape of the OpenAI chat API. Messages are never changed once made. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

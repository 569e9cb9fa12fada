import type { AssistantMessage, Message } from './message';
import type { ErrorCode } from '../errors/codes';
import type { ToolDefinition } from './tool';
import type { Usage } from './usage';
import type { Redact } from '../util/redact';

export type ToolChoice = 'auto' | 'none' | 'required';
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error';

export interface ModelRequest {
  readonly modelId: string;
  readonly messages: readonly Message[];
  /** The same array object for the whole run, so that it is serialised once. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Blanks every secret that the run knows, for what an error quotes. */
  readonly redact?: Redact;
  /** Filled in while the call is under way, also when it fails. */
  readonly attempts: RequestAttempts;
}

/** Counts the HTTP requests of one model call, its retries included. */
export interface RequestAttempts {
  sent: number;
  answered: number;
}

export interface ModelReply {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Undefined when the provider reported none, or nonsense. */
  readonly usage?: Usage;
  /** US dollars as decimal text, when the provider reports it. */
  readonly providerCostUsd?: string;
  readonly modelReturned?: string;
  readonly providerRequestId?: string;
  /** Set when another model answered than the request names, and why that one did not. */
  readonly fallback?: { readonly name: string; readonly code: ErrorCode };
}

/** Answers one transcript. Rejects with a RuntimeError whose code starts with LLM_, or when the signal aborts. */
export interface Model {
  readonly generate: (request: ModelRequest) => Promise<ModelReply>;
}

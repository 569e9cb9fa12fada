import type { ErrorCode } from '../errors/codes';
import type { JsonObject } from '../util/json';
import type { Redact } from '../util/redaction/redact';
import type { Usage } from './ledger/usage';
import type { AssistantMessage, Message } from './message';
import type { ToolDefinition } from './tools/tool-shapes';

export type ToolChoice = 'auto' | 'none' | 'required';
/**
 * How a reply ended. Whole: `stop`, `tool-calls`, `refusal` (the text says that the model declines). Cut: `length` (a limit of
 * tokens), `content-filter`, `cut` (anything else). `unknown`: a word of the provider that is not known. `error`: not usable.
 * Calls of a reply that is not whole are never executed.
 */
export type FinishReason =
  'stop' | 'tool-calls' | 'refusal' | 'length' | 'content-filter' | 'cut' | 'unknown' | 'error';

const WHOLE: ReadonlySet<FinishReason> = new Set(['stop', 'tool-calls', 'refusal']);
const CUT: ReadonlySet<FinishReason> = new Set(['length', 'content-filter', 'cut']);

export function isWhole(reason: FinishReason): boolean {
  return WHOLE.has(reason);
}

export function isCut(reason: FinishReason): boolean {
  return CUT.has(reason);
}

export interface ModelRequest {
  readonly modelId: string;
  readonly messages: readonly Message[];
  /** The same array object as long as the tools are the same, so that it is serialised once. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly temperature?: number;
  readonly maxTokens?: number;
  /** Form of the answer, as the chat API has it. */
  readonly responseFormat?: JsonObject;
  /** Texts before which the reply ends. */
  readonly stop?: readonly string[];
  /** Learned peculiarities of a model are kept for each tenant by itself. */
  readonly tenantId?: string;
  /** Limit of the time without a byte of the reply, before its first one and between two; not of the whole reply. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
  /** Blanks every secret that the run knows, for what an error quotes. */
  readonly redact?: Redact;
  /** Filled in while the call is under way, also when it fails. */
  readonly attempts: RequestAttempts;
  /** Asks for the reply piece by piece. A model that cannot give it so never calls this. Must not throw. */
  readonly onDelta?: (delta: ModelDelta) => void;
}

/** A piece of a reply, as it came. */
export interface ModelDelta {
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

/** Counts the HTTP requests of one model call, its retries included. */
export interface RequestAttempts {
  sent: number;
  answered: number;
  /** Pieces of a reply were handed on, so no other try may follow: its text would stand there twice. */
  isShown?: true;
  /** What was used by replies that could not be taken as an answer. Each is paid for all the same. */
  wasted?: WastedReply[];
}

/** What one reply says that it has used. */
export interface ReplyUsage {
  /** Undefined when the provider reported none, or nonsense. */
  readonly usage?: Usage;
  /** Everything that the model wrote, its thinking included, if `usage` is undefined and the message does not hold all of it. */
  readonly written?: string;
  /** The usage was counted from the texts, since the provider reported none. */
  readonly isEstimated?: true;
  /** US dollars as decimal text, when the provider reports it. */
  readonly providerCostUsd?: string;
  /**
   * Set where a router was asked with a key of the upstream provider: its own figure is a fee, and this is what the
   * provider charged, if that is told.
   */
  readonly ownKey?: { readonly costUsd?: string };
  /** The counts have other names than those of the chat API, so what they include is not certain. */
  readonly isForeignUsage?: true;
  /** The counts contradict one another: what was reported and what was made of it. `usage` is the highest reading. */
  readonly contradiction?: string;
  readonly modelReturned?: string;
  readonly providerRequestId?: string;
}

export interface WastedReply extends ReplyUsage {
  readonly modelId: string;
}

/** A part of a request that a provider refuses. */
export interface Reduction {
  /** Its name for people, such as `tool "find_orders"`. */
  readonly what: string;
  /** The provider's own words, redacted. */
  readonly reason: string;
}

export interface ModelReply extends ReplyUsage {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** The provider's own word for `finishReason`, for messages. */
  readonly finishWord?: string;
  /** The parts of the request that the provider refused and that were left out. */
  readonly reduced?: readonly Reduction[];
  /** Set when another model answered than the request names, and why that one did not. */
  readonly fallback?: { readonly name: string; readonly code: ErrorCode };
}

/** Answers one transcript. Rejects with a RuntimeError whose code starts with LLM_, or when the signal aborts. */
export interface Model {
  readonly generate: (request: ModelRequest) => Promise<ModelReply>;
}

export interface NamedModel {
  /** Id in requests, prices and reports. */
  readonly name: string;
  readonly model: Model;
}

/** Returns the models that can answer for an id, in order of preference; none if no provider is configured. */
export type Models = (modelId: string) => readonly NamedModel[];

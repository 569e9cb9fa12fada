import type { OutputFormat } from '../contracts/connected';
import type { OnEvent } from '../contracts/event';
import type { JournalStep } from '../contracts/journal';
import type { Message } from '../contracts/message';
import type { Model, ModelReply, RequestAttempts, ToolChoice } from '../contracts/model';
import type { ResumeState } from '../contracts/outcome';
import type { EgressFilter, Tool, ToolMeta, Toolset } from '../contracts/tool';
import type { EndedToolCall } from '../contracts/tool-call';
import type { ErrorCode } from '../errors/codes';
import type { ErrorDetails, RuntimeError } from '../errors/runtime-error';
import type { JsonObject, JsonValue } from '../util/json';
import type { Redact } from '../util/redact';

export interface LoopSettings {
  readonly modelId: string;
  readonly maxIterations: number;
  readonly onMaxIterations: 'error' | 'partial' | 'finalAnswer';
  readonly toolExecution: 'parallel' | 'sequential' | 'single';
  readonly toolChoice: ToolChoice;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly modelTimeoutMs: number;
  readonly maxParallelToolCalls: number;
  readonly maxToolCallsPerStep: number;
  /** The run fails after so many steps in a row in which every tool call failed. */
  readonly maxErrorSteps: number;
  /** The call number so many with the same arguments and the same answer is not made. */
  readonly maxIdenticalCalls: number;
  /** Tool calls of the whole run. */
  readonly maxToolCalls?: number;
  readonly maxCallsPerTool?: number;
}

/** One model call that ended, well or not. */
export interface EndedModelCall {
  readonly callNo: number;
  readonly attempts: RequestAttempts;
  readonly durationMs: number;
  readonly reply?: ModelReply;
  readonly error?: RuntimeError;
}

/** A call that may run as far as the loop can tell. */
export interface RunnableCall {
  readonly toolCallId: string;
  readonly tool: Tool;
  readonly input: JsonObject;
}

/** What was decided on a call in the moment before it runs. A call without a ruling runs as it is. */
export type Ruling =
  | { readonly kind: 'deny'; readonly code: ErrorCode; readonly details: ErrorDetails }
  /** The rules have changed since the tools were chosen: this is the tool under the new ones. */
  | { readonly kind: 'changed'; readonly tool: Tool };

export type Rulings = ReadonlyMap<string, Ruling>;

/** What follows a model call. */
export interface NextStep {
  readonly callNo: number | undefined;
  readonly calls: readonly RunnableCall[];
  /** Undefined where no step is open: the run goes on after a silence. */
  readonly step?: OpenedStep;
}

/** What of a step goes into the journal, as far as the loop knows it. */
export type OpenedStep = Omit<JournalStep, 'spent'>;

export interface LoopInput {
  readonly model: Model;
  readonly toolset: Toolset;
  readonly messages: readonly Message[];
  /** `messages` cannot be made again, since a memory had a part in them: they go into the journal. */
  readonly keepsOpening?: boolean;
  /** Goes on with what an earlier run of the task has done; `messages` is not read then. */
  readonly resume?: ResumeState;
  readonly settings: LoopSettings;
  /** The answer has to be of this form. */
  readonly format?: OutputFormat;
  readonly meta: ToolMeta;
  /** Tools may set them. */
  readonly variables: Map<string, JsonValue>;
  readonly egress?: EgressFilter;
  /** Blanks every secret that the run knows. */
  readonly redact?: Redact;
  readonly signal: AbortSignal;
  /** Why the signal was aborted, as the error that ends the run. */
  readonly stopError: () => RuntimeError | undefined;
  readonly onModelCallEnd: (call: EndedModelCall) => void;
  /** A model call has ended with anything but an answer. Nothing that it asked for has been decided on. */
  readonly onStepOpen: (step: OpenedStep) => void;
  /**
   * Awaited between a model call and what follows it: the tools of the step, and the next call, which is
   * undefined after the last one. A rejection ends the run, and nothing of the step runs.
   */
  readonly beforeNext: (next: NextStep) => Promise<Rulings>;
  readonly onToolCallEnd: (call: EndedToolCall) => void;
  readonly emit: OnEvent;
}

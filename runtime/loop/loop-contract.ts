import type { OnEvent } from '../contracts/event';
import type { Message } from '../contracts/message';
import type { Model, ModelReply, RequestAttempts, ToolChoice } from '../contracts/model';
import type { EgressFilter, ToolMeta, Toolset } from '../contracts/tool';
import type { RuntimeError } from '../errors/runtime-error';
import type { JsonValue } from '../util/json';

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
}

/** One model call that ended, well or not. */
export interface EndedModelCall {
  readonly callNo: number;
  readonly attempts: RequestAttempts;
  readonly durationMs: number;
  readonly reply?: ModelReply;
  readonly error?: RuntimeError;
  /** True when another model call is meant to follow. */
  readonly continues: boolean;
}

export interface LoopInput {
  readonly model: Model;
  readonly toolset: Toolset;
  readonly messages: readonly Message[];
  readonly settings: LoopSettings;
  readonly meta: ToolMeta;
  /** Tools may set them. */
  readonly variables: Map<string, JsonValue>;
  readonly egress?: EgressFilter;
  readonly signal: AbortSignal;
  /** Why the signal was aborted, as the error that ends the run. */
  readonly stopError: () => RuntimeError | undefined;
  /** Awaited before the tools of the step run. A rejection ends the run. */
  readonly onModelCallEnd: (call: EndedModelCall) => Promise<void>;
  readonly emit: OnEvent;
}

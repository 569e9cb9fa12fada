import type { AssistantMessage, Message } from '../contracts/message';
import type { ApprovalDecision, PendingStep, StepRecord } from '../contracts/outcome';
import type { ToolDefinition } from '../contracts/tool';
import type { JsonValue } from '../util/json';
import type { RepeatedCalls } from './repeated-calls';

/** What a run knows between its steps. */
export interface RunState {
  readonly messages: Message[];
  /** How many of them the task began with. */
  readonly opening: number;
  readonly keepsOpening: boolean;
  /** What the model is shown; the same array for the whole run. */
  readonly tools: readonly ToolDefinition[];
  readonly steps: StepRecord[];
  readonly toolCallIds: Set<string>;
  /** Calls made so far, by tool. */
  readonly calls: Map<string, number>;
  readonly repeated: RepeatedCalls;
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The arguments that the decisions are on. */
  readonly shown: Readonly<Record<string, JsonValue>>;
  iterations: number;
  /** An answer that did not have the required format, and what the model was told of it. */
  readonly repair: Message[];
}

/** A model call that ended, and what is left to do of its step. */
export interface OpenStep extends PendingStep {
  readonly callNo: number;
  /** The last one of the transcript. */
  readonly message: AssistantMessage;
  /** No model call follows. */
  readonly isLast: boolean;
  /** The answer, when it came as the call of a tool. */
  readonly given?: string;
}

import type { AssistantMessage, Message } from '../contracts/message';
import type { ApprovalDecision, PendingStep, StepRecord } from '../contracts/outcome';
import type { JsonValue } from '../util/json';
import type { RepeatedCalls } from './repeated-calls';

/** What a run knows between its steps. */
export interface RunState {
  readonly messages: Message[];
  readonly steps: StepRecord[];
  readonly toolCallIds: Set<string>;
  /** Calls made so far, by tool. */
  readonly calls: Map<string, number>;
  readonly repeated: RepeatedCalls;
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The arguments that the decisions are on. */
  readonly shown: Readonly<Record<string, JsonValue>>;
  iterations: number;
}

/** A model call that ended, and what is left to do of its step. */
export interface OpenStep extends PendingStep {
  readonly callNo: number;
  /** The last one of the transcript. */
  readonly message: AssistantMessage;
  /** No model call follows. */
  readonly isLast: boolean;
}

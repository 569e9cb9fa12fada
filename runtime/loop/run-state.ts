import type { Approval, LoopProgress, PendingStep } from '../contracts/ledger/progress';
import type { Step, StepRecord } from '../contracts/ledger/step';
import type { Message, ToolCallMessage } from '../contracts/message';
import type { ToolDefinition } from '../contracts/tools/tool';
import type { RepeatedCalls } from './repeated-calls';

/** State of the run's tool calls. */
export interface CallsSoFar {
  readonly ids: Set<string>;
  /** How many were made, by tool. */
  readonly counts: Map<string, number>;
  readonly repeated: RepeatedCalls;
}

/** State kept between steps. */
export interface RunState {
  readonly messages: Message[];
  /** How many of them the task began with. */
  readonly openingLength: number;
  readonly keepsOpening: boolean;
  /** What the model is shown; the same array for the whole run. */
  readonly tools: readonly ToolDefinition[];
  readonly steps: StepRecord[];
  readonly calls: CallsSoFar;
  readonly approvals: Readonly<Record<string, Approval>>;
  iterations: number;
  /** An answer that did not have the required format, and what the model was told of it. */
  readonly repair: Message[];
}

/** A model call that ended, and what is left to do of its step. */
export interface OpenStep extends PendingStep {
  readonly calls: readonly ToolCallMessage[];
  /** No model call follows. */
  readonly isLast: boolean;
  /** The answer, when it came as the call of a tool. */
  readonly given?: string;
}

/** The calls of a step as the model wrote them. */
export function callsOf({ calls, message }: Step): readonly ToolCallMessage[] {
  return calls ?? message.tool_calls ?? [];
}

/** An id is what the model's server makes it: it may be the name of what every object has. */
export function approvalOf({ id }: ToolCallMessage, { approvals }: Pick<RunState, 'approvals'>): Approval | undefined {
  return Object.hasOwn(approvals, id) ? approvals[id] : undefined;
}

/** The whole transcript so far, with the message of a step that is pending. */
export function transcriptOf({ messages, pending }: LoopProgress): readonly Message[] {
  return pending === undefined ? messages : [...messages, pending.message];
}

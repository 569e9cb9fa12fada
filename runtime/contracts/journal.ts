import type { JsonObject, JsonValue } from '../util/json';
import type { AssistantMessage, Message, ToolCallMessage } from './message';
import type { FinishReason } from './model';
import type { ApprovalDecision, ExecutedToolCall, Spent } from './outcome';

/** A model call that ended with anything but an answer, and what it asked for. On record before anything of it is sent. */
export interface JournalStep {
  /** The number of the model call. */
  readonly step: number;
  /** Of the first step: the transcript up to it, where it cannot be made again, since a memory had a part in it. */
  readonly opening?: readonly Message[];
  /** As it stands in the transcript. */
  readonly message: AssistantMessage;
  /** As the model wrote them, where the message has them otherwise. */
  readonly calls?: readonly ToolCallMessage[];
  readonly finishReason: FinishReason;
  readonly durationMs: number;
  readonly wereDropped: boolean;
  /** Calls made before this step, by tool. */
  readonly counts: Readonly<Record<string, number>>;
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The arguments that the decisions are on. */
  readonly shown: Readonly<Record<string, JsonValue>>;
  /** Of the task so far, with this call. */
  readonly spent: Spent;
  /** The places, in its calls, of those that may have been sent. */
  readonly sent: readonly number[];
  /** Of those that are sent when this write says that there is room. */
  readonly sending?: readonly number[];
}

/** A tool call that ended. */
export interface JournalOutcome {
  readonly step: number;
  readonly toolCallId: string;
  readonly outcome: ExecutedToolCall;
  /** All variables of the run, when they have changed. */
  readonly variables?: JsonObject;
}

/** What is on record of a task's steps: one entry a model call, one a tool call. */
export type JournalEntry = JournalStep | JournalOutcome;

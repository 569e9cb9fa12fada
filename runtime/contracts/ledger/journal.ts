import type { JsonObject, JsonValue } from '../../util/json';
import type { AssistantMessage, Message, ToolCallMessage } from '../message';
import type { FinishReason } from '../model';
import type { Agent } from '../tenant';
import type { ToolCallRecord } from '../tools/tool-call';

/** Usage of a run so far, before and after interruptions. */
export interface Spent {
  /** US dollars, as decimal text. */
  readonly costUsd: string;
  readonly tokens: number;
}

export type ApprovalDecision = 'approve' | 'deny';

/** A tool call that was shown to a person. */
export interface Approval {
  /** The arguments as they were shown. */
  readonly arguments: JsonValue;
  /** Origin of the tool that was to be called; undefined in what an earlier version has stored. */
  readonly origin?: string;
  /** Undefined while the person has not decided. */
  readonly decision?: ApprovalDecision;
  /** The user id of the person who decided. */
  readonly decidedBy?: string;
  /** Set where a run that works for the call has asked; the decision above is on the call itself. */
  readonly below?: ApprovalBelow;
}

/** A run that works for a tool call and has asked a person. */
export interface ApprovalBelow extends Pick<Approval, 'decision' | 'decidedBy'> {
  readonly taskId: string;
  /** The run that waits. */
  readonly runId: string;
}

/** A model call that ended and the tool calls it asked for, on record before any of them is sent. Plain JSON. */
export interface Step {
  /** The number of the model call, counted over all runs of the task. */
  readonly step: number;
  readonly finishReason: FinishReason;
  readonly durationMs: number;
  /** The message as it stands in the transcript. */
  readonly message: AssistantMessage;
  /** The calls as the model wrote them; undefined where the message has them so. */
  readonly calls?: readonly ToolCallMessage[];
  /** More calls were asked for than may be made in a step. */
  readonly wereDropped: boolean;
  /** The places, in its calls, of those that may have been sent. */
  readonly sent: readonly number[];
  /**
   * The transcript up to the first step, kept there where a memory had a part in it, so that it cannot be made again.
   */
  readonly opening?: readonly Message[];
  /** Calls made before this step, by tool. */
  readonly callCounts: Readonly<Record<string, number>>;
  readonly approvals: Readonly<Record<string, Approval>>;
  /** What the task has spent so far, with this call. */
  readonly spent: Spent;
  /** The agent of the run, in the entry of the first step. */
  readonly agent?: Agent;
  /** The places of the calls that are sent when this write says that there is room. */
  readonly sending?: readonly number[];
}

/** A step that is over. */
export interface StepRecord extends Pick<Step, 'step' | 'finishReason' | 'durationMs'> {
  readonly toolCalls: readonly ToolCallRecord[];
}

/** A tool call that ended. */
export interface ToolCallEntry extends ToolCallRecord {
  /** Variables that were set since the previous change. */
  readonly variables?: JsonObject;
  /** Names of variables that were removed since then. */
  readonly removed?: readonly string[];
  /** Number of the change within the task: entries are not returned in the order of time. */
  readonly change?: number;
}

/** What is on record of a task's steps: one entry a model call, one a tool call. */
export type JournalEntry = Step | ToolCallEntry;

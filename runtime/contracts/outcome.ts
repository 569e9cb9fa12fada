import type { ErrorSummary, RuntimeError } from '../errors/runtime-error';
import type { JsonObject, JsonValue } from '../util/json';
import type { Message, ToolCallMessage } from './message';
import type { FinishReason } from './model';
import type { AwaitedApproval, RunStatus, ToolCallReport } from './result';
import type { AgentTask } from './task';

/** One model call and the tool calls it asked for. */
export interface StepRecord {
  readonly callNo: number;
  readonly finishReason: FinishReason;
  readonly durationMs: number;
  readonly toolCalls: readonly ExecutedToolCall[];
}

export interface ExecutedToolCall {
  readonly report: ToolCallReport;
  readonly isError: boolean;
  readonly code?: string;
}

export interface LoopOutcome {
  readonly status: RunStatus;
  readonly text: string;
  readonly truncated: boolean;
  /** The value of the answer, when it has to have a form. */
  readonly structured?: JsonValue;
  /** Model calls made by this run. */
  readonly iterations: number;
  /** The number of the last model call, over all runs of the task that this one goes on from. */
  readonly lastCallNo: number;
  readonly steps: readonly StepRecord[];
  /** The transcript after the opening, over all runs of the task. */
  readonly said?: readonly Message[];
  /** What did not go as it should, although the run gives a result. */
  readonly warnings?: readonly ErrorSummary[];
  /** Set when the run waits for a person. */
  readonly awaiting?: AwaitedApproval;
  readonly resume?: ResumeState;
  /** Set unless the run gives a result. */
  readonly error?: RuntimeError;
}

/** What a run goes on with that waited for an approval, failed or was lost; plain JSON. */
export interface ResumeState {
  readonly messages: readonly Message[];
  /** How many of them the run began with; undefined where that can be told from the task. */
  readonly opening?: number;
  readonly steps: readonly StepRecord[];
  readonly iterations: number;
  /** Calls made before the pending step, by tool. */
  readonly calls: Readonly<Record<string, number>>;
  /** Undefined when the last model call asked for nothing: another one follows at once. */
  readonly pending?: PendingStep;
  /** What was decided on calls of that step. */
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The arguments that the decisions are on, as they were shown. */
  readonly shown: Readonly<Record<string, JsonValue>>;
  /** The call that waits for a decision. */
  readonly toolCallId?: string;
}

/** The step that was broken off, whose message is the last one of the transcript. */
export interface PendingStep {
  readonly finishReason: FinishReason;
  readonly durationMs: number;
  /** As the model wrote them; in the transcript they stand as providers take them. */
  readonly calls: readonly ToolCallMessage[];
  readonly wereDropped: boolean;
  /** The places of those that may have been sent. */
  readonly sent: readonly number[];
  /** What is known of them, by id. */
  readonly outcomes: Readonly<Record<string, ExecutedToolCall>>;
}

/** How far the task was when its last run ended. */
export interface EarlierRun {
  readonly resume: ResumeState;
  readonly spent: Spent;
  readonly variables: JsonObject;
}

/** What is kept of a run that waits: the request that it answers, and how far it is. */
export interface WaitingRun extends EarlierRun {
  readonly task: Pick<AgentTask, 'config' | 'meta'>;
}

/** What a run has used so far, before and after interruptions. */
export interface Spent {
  /** US dollars, as decimal text. */
  readonly costUsd: string;
  readonly tokens: number;
}

export type ApprovalDecision = 'approve' | 'deny';

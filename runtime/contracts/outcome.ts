import type { RuntimeError } from '../errors/runtime-error';
import type { JsonObject, JsonValue } from '../util/json';
import type { AgentTask } from './task';
import type { Message, ToolCallMessage } from './message';
import type { FinishReason } from './model';
import type { AwaitedApproval, RunStatus, ToolCallReport } from './result';

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
  /** Model calls made by this run. */
  readonly iterations: number;
  /** The number of the last model call, over all runs of the task that were interrupted for a person. */
  readonly lastCallNo: number;
  readonly steps: readonly StepRecord[];
  /** Set when the run waits for a person. */
  readonly awaiting?: AwaitedApproval;
  readonly resume?: ResumeState;
  /** Set unless the run gives a result. */
  readonly error?: RuntimeError;
}

/** What a run that waits for an approval goes on with; plain JSON, kept beside its result. */
export interface ResumeState {
  readonly messages: readonly Message[];
  readonly steps: readonly StepRecord[];
  readonly iterations: number;
  /** Calls made so far, by tool. */
  readonly calls: Readonly<Record<string, number>>;
  readonly pending: PendingStep;
  /** What was decided on calls of that step. */
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The arguments that the decisions are on, as they were shown. */
  readonly shown: Readonly<Record<string, JsonValue>>;
  /** The call that waits for a decision. */
  readonly toolCallId: string;
}

/** The step that was broken off. */
export interface PendingStep {
  readonly finishReason: FinishReason;
  readonly durationMs: number;
  /** As the model wrote them; in the transcript they stand as providers take them. */
  readonly calls: readonly ToolCallMessage[];
  readonly wereDropped: boolean;
}

/** What is kept of a run that waits: the request that it answers, and how far it is. */
export interface WaitingRun {
  readonly task: Pick<AgentTask, 'config' | 'meta'>;
  readonly resume: ResumeState;
  readonly spent: Spent;
  readonly variables: JsonObject;
}

/** What a run has used so far, before and after interruptions. */
export interface Spent {
  /** US dollars, as decimal text. */
  readonly costUsd: string;
  readonly tokens: number;
}

export type ApprovalDecision = 'approve' | 'deny';

import type { RuntimeError } from '../errors/runtime-error';
import type { AgentTask } from './task';
import type { Message } from './message';
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
  /** The step that was broken off: its calls stand in the last message. */
  readonly pending: { readonly finishReason: FinishReason; readonly durationMs: number };
  /** What was decided on calls of that step. */
  readonly approvals: Readonly<Record<string, ApprovalDecision>>;
  /** The call that waits for a decision. */
  readonly toolCallId: string;
}

/** What is kept of a run that waits: the request that it answers, and how far it is. */
export interface WaitingRun {
  readonly task: Pick<AgentTask, 'config' | 'meta'>;
  readonly resume: ResumeState;
}

export type ApprovalDecision = 'approve' | 'deny';

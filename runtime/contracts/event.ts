import type { ErrorCode } from '../errors/codes';
import type { RunStatus } from './result';

/** What a caller can watch while a run is under way. No event carries arguments, results of tools or secrets. */
export type RunEvent =
  | {
      readonly type: 'run-start';
      readonly runId: string;
      readonly taskId: string;
      readonly model: string;
      readonly tools: number;
    }
  | { readonly type: 'step-start'; readonly step: number }
  /** A piece of what the model says, where the run was asked to stream. */
  | { readonly type: 'text-delta'; readonly step: number; readonly text: string }
  /** A piece of what the model says to itself; never a part of the answer. */
  | { readonly type: 'reasoning-delta'; readonly step: number; readonly text: string }
  | { readonly type: 'tool-call'; readonly step: number; readonly tool: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-result';
      readonly step: number;
      readonly tool: string;
      readonly toolCallId: string;
      readonly isError: boolean;
      /** Set for an error. */
      readonly code?: ErrorCode;
      readonly durationMs: number;
    }
  | {
      readonly type: 'step-end';
      readonly step: number;
      readonly promptTokens: number;
      readonly completionTokens: number;
    }
  /** An event of a run that works for a tool call, such as a sub-agent: any but its deltas. */
  | { readonly type: 'run-below'; readonly toolCallId: string; readonly event: RunEvent }
  /** `code` is that of the error that ended it. */
  | { readonly type: 'run-end'; readonly status: RunStatus; readonly costUsd: string; readonly code?: ErrorCode };

/** Called in the order of events. What it throws or rejects with is ignored. */
export type OnEvent = (event: RunEvent) => unknown;

/**
 * Takes one line of a log: words of our own and facts that are safe to show; never the content of a task, a call or a
 * result. What it throws or rejects with is ignored.
 */
export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  facts?: Readonly<Record<string, string | number | boolean | undefined>>,
) => unknown;

import type { RuntimeError } from '../errors/runtime-error';
import type { FinishReason } from './model';
import type { ToolCallReport } from './result';

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
  readonly status: 'completed' | 'max_iterations' | 'cancelled' | 'failed';
  readonly text: string;
  readonly truncated: boolean;
  readonly iterations: number;
  readonly steps: readonly StepRecord[];
  /** Set unless the run gives a result. */
  readonly error?: RuntimeError;
}

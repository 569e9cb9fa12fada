import type { JsonValue } from '../util/json';
import type { ExecutedToolCall } from './outcome';
import type { Decision } from './permission';

/** One tool call that ended, was refused, or waits for a person. */
export interface EndedToolCall {
  readonly step: number;
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: JsonValue;
  readonly decision: Decision;
  readonly isError: boolean;
  readonly code?: string;
  readonly durationMs: number;
  /** Undefined for one that waits. */
  readonly outcome?: ExecutedToolCall;
  /** It must not be sent again. */
  readonly isOnce: boolean;
  /** False: the run was stopped before its turn came. */
  readonly wasSent: boolean;
}

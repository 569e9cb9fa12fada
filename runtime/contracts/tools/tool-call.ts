import type { JsonValue } from '../../util/json';
import type { RunShare } from '../result';
import type { Decision } from './permission';
import type { ToolOutput } from './tool-shapes';

/**
 * One tool call: made, refused, or waiting for a person. The loop reports it, the journal and the audit keep it, and the
 * result's `tool_calls` and trace are made of it. Plain JSON.
 */
export interface ToolCallRecord {
  /** The number of the model call that asked for it. */
  readonly step: number;
  /** Unique in the run. */
  readonly id: string;
  readonly tool: string;
  /** What the tool was called with; the text that the model wrote where it is no JSON object. */
  readonly arguments: JsonValue;
  readonly decision: Decision;
  /** The user id of the person who allowed or denied it. */
  readonly decidedBy?: string;
  /** False: it must not be sent again while its outcome is unknown. */
  readonly isRepeatable: boolean;
  /** False: the run was stopped before its turn came. */
  readonly wasSent: boolean;
  readonly durationMs: number;
  /** The runs that have worked for it. */
  readonly runs?: readonly RunShare[];
  /** Undefined while it waits for a person. */
  readonly outcome?: ToolOutput;
}

import type { AssistantMessage, ToolCallMessage } from '../message';
import type { FinishReason } from '../model';
import type { ToolCallRecord } from '../tools/tool-call';

/** A model call that ended, and the tool calls it asked for. Plain JSON. */
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
}

/** A step that is over. */
export interface StepRecord extends Pick<Step, 'step' | 'finishReason' | 'durationMs'> {
  readonly toolCalls: readonly ToolCallRecord[];
}

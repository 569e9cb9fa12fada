import type { ErrorSummary, RuntimeError } from '../errors/runtime-error';
import type { JsonValue } from '../util/json';
import type { StepRecord } from './ledger/journal';
import type { LoopProgress } from './ledger/progress';
import type { Message } from './message';
import type { AwaitedApproval, RunStatus } from './result';

export interface LoopOutcome {
  readonly status: RunStatus;
  readonly text: string;
  readonly truncated: boolean;
  /** The value of the answer, when it has to have a form. */
  readonly structured?: JsonValue;
  /** Model calls made by this run. */
  readonly iterations: number;
  /** The number of the last model call, over all runs of the task that this one goes on from. */
  readonly lastStep: number;
  readonly steps: readonly StepRecord[];
  /** The transcript after the opening, over all runs of the task. */
  readonly said?: readonly Message[];
  /** What did not go as it should, although the run gives a result. */
  readonly warnings?: readonly ErrorSummary[];
  /** Set when the run was paused after a step that another one follows. */
  readonly isPaused?: boolean;
  /** Set when the run waits for a person. */
  readonly awaiting?: AwaitedApproval;
  /** Set together with `awaiting`. */
  readonly progress?: LoopProgress;
  /** Set unless the run gives a result. */
  readonly error?: RuntimeError;
}

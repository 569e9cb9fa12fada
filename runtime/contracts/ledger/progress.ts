import type { JsonObject } from '../../util/json';
import type { Message } from '../message';
import type { AgentTask } from '../task';
import type { Agent } from '../tenant';
import type { ToolCallRecord } from '../tools/tool-call';
import type { Approval, Spent, Step, StepRecord } from './journal';

/** How far the loop of a task is. */
export interface LoopProgress {
  /** The transcript, without the message of a pending step. */
  readonly messages: readonly Message[];
  /** How many of them the run began with; undefined where that can be told from the task. */
  readonly openingLength?: number;
  readonly steps: readonly StepRecord[];
  readonly iterations: number;
  /** Calls made before the pending step, by tool. */
  readonly callCounts: Readonly<Record<string, number>>;
  /**
   * The step that was broken off, and what is known of its calls, by id. Undefined when the last model call asked for
   * nothing: another one follows.
   */
  readonly pending?: Pick<
    Step,
    'step' | 'finishReason' | 'durationMs' | 'message' | 'calls' | 'wereDropped' | 'sent'
  > & {
    readonly outcomes: Readonly<Record<string, ToolCallRecord>>;
    /** The run's variables before any of its calls. Default: those of now, since none has ended. */
    readonly variables?: JsonObject;
  };
  /** Approvals by the id of the call. */
  readonly approvals: Readonly<Record<string, Approval>>;
  /** The id of the call that a person is asked about. Default: the first that is not decided on. */
  readonly asked?: string;
}

/** What a run goes on with that waited for an approval, failed or was lost. Plain JSON. */
export interface Progress extends LoopProgress {
  readonly spent: Spent;
  readonly variables: JsonObject;
  /** How many entries of the journal have changed them. Default: none. */
  readonly changes?: number;
  /** The agent as it was when the run began. */
  readonly agent?: Agent;
}

/** A run that waits for a person, as it is stored: the request that it answers, and how far it is. */
export interface SavedRun {
  readonly task: Pick<AgentTask, 'config' | 'meta'>;
  readonly progress: Progress;
  /** Resources of the host that it uses, such as `the memory`. It resumes only if all of them are present. */
  readonly needs?: readonly string[];
}

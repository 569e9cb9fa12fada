import type { JsonObject } from '../../util/json';
import type { Message } from '../message';
import type { ToolCallRecord } from '../tools/tool-call';
import type { Approval, Spent } from './progress';
import type { Step } from './step';

/** A step on record before anything that it asked for is sent. */
export interface StepEntry extends Step {
  /**
   * The transcript up to the first step, kept there where a memory had a part in it, so that it cannot be made again.
   */
  readonly opening?: readonly Message[];
  /** Calls made before this step, by tool. */
  readonly callCounts: Readonly<Record<string, number>>;
  readonly approvals: Readonly<Record<string, Approval>>;
  /** What the task has spent so far, with this call. */
  readonly spent: Spent;
  /** The places of the calls that are sent when this write says that there is room. */
  readonly sending?: readonly number[];
}

/** A tool call that ended. */
export interface ToolCallEntry extends ToolCallRecord {
  /** All variables of the run, when they have changed. */
  readonly variables?: JsonObject;
}

/** What is on record of a task's steps: one entry a model call, one a tool call. */
export type JournalEntry = StepEntry | ToolCallEntry;

import type { JsonObject } from '../../util/json';
import type { Account } from '../ledger/account';
import type { RunKey } from '../ledger/ledger';
import type { TaskConfigInput } from '../task-config.generated';
import type { PlannedStep, Review } from './plan';
import type { ToolOutput } from './tool-shapes';

/** The run that a tool call is made for. */
export interface ToolRun {
  readonly key: RunKey;
  readonly account: Account;
  /** The skill that the run was started for. Default: none. */
  readonly skill?: string;
  /** Set in runs of the modes `plan` and `auto`. */
  readonly plan?: PlanRun;
  /**
   * Runs another task for the call, under the tenant and on the account of the run. Its id is made of the call's and of its place among
   * the tasks that the call has started, so a call that is made again goes on with what was done: a tool that does nothing else may say
   * that it is repeatable. Resolves with the answer as the output of a tool. Where the task waits for a person, the run waits too, and
   * makes the call again afterwards, whatever the tool returns meanwhile. The rules for tools, the limits on tool calls and the variables
   * of the run's task hold for it too, and the tier, unless it names one. Never rejects.
   *
   * @example
   * execute: ({ question }, context) => context.run.startChild({ agent: 'billing', message: String(question) }, context)
   */
  readonly startChild: (config: ChildConfig, call: ChildCall) => Promise<ToolOutput>;
}

/** Settings of a task that a tool call starts. */
export type ChildConfig = Omit<TaskConfigInput, 'approval'>;

/** The tool call that a task is started for: the tool's context. */
export interface ChildCall {
  readonly toolCallId: string;
  readonly signal: AbortSignal;
  /** Set by the runtime alone: the task is the agent of the run at work on a part of it, and its answer has no form. */
  readonly part?: RunPart;
}

/** A part of the work of a run that its agent does apart: a skill, or a step of a plan. */
export interface RunPart {
  readonly message: string;
  /** The skill that it is. Default: none. */
  readonly skill?: string;
  /** Origins of the tools of the run that it can call: names may be others in another set of tools. */
  readonly tools: readonly string[];
  /** Names of the skills that it can load. Default: those of the run. */
  readonly skills?: readonly string[];
  /** The code of a tier or the id of a model. Default: those of the run. */
  readonly tier?: string;
  readonly model?: string;
  /** Limit of its model calls. Default: that of the run. With 0 the output of `call` is its answer. */
  readonly maxTurns?: number;
  /** A tool call that it begins with, before its model is asked. */
  readonly call?: {
    /** The name of the tool in the run, and its origin, since the part may have another tool of that name. */
    readonly tool: string;
    readonly origin?: string;
    readonly arguments: JsonObject;
  };
}

/** A run that makes plans and follows them. Outputs are those of the tools for it; neither method rejects. */
export interface PlanRun {
  /** Begins a plan, and does its first step. */
  readonly begin: (steps: readonly PlannedStep[], call: PlanCall) => Promise<ToolOutput>;
  /** Judges the step that was done last, and does the one that follows. */
  readonly review: (review: Review, call: PlanCall) => Promise<ToolOutput>;
}

/** The call of a tool that makes or reviews a plan: its context. */
export interface PlanCall {
  readonly run: Pick<ToolRun, 'startChild'>;
  readonly toolCallId: string;
  readonly signal: AbortSignal;
}

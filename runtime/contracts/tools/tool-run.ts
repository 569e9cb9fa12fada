import type { Account } from '../ledger/account';
import type { RunKey } from '../ledger/ledger';
import type { TaskConfigInput } from '../task-config.generated';
import type { ToolOutput } from './tool-shapes';

/** The run that a tool call is made for. */
export interface ToolRun {
  readonly key: RunKey;
  readonly account: Account;
  /** The skill that the run was started for. Default: none. */
  readonly skill?: string;
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
  /** Set by the tool that loads skills alone: the task is the agent of the run at work on it, and its answer has no form. */
  readonly skill?: SkillRun;
}

/** A skill of the agent of a run, at work by itself. */
export interface SkillRun {
  readonly name: string;
  readonly message: string;
  /** Origins of the tools of the run that it can call: names may be others in another set of tools. */
  readonly tools: readonly string[];
  /** Names of the skills that it can load. */
  readonly skills: readonly string[];
  /** The code of a tier or the id of a model. Default: those of the run. */
  readonly tier?: string;
  readonly model?: string;
  /** Limit of its model calls. Default: that of the run. */
  readonly maxTurns?: number;
}

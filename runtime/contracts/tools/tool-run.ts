import type { Account } from '../ledger/account';
import type { ApprovalDecision } from '../ledger/journal';
import type { RunKey } from '../ledger/ledger';
import type { TaskConfigInput } from '../task-config.generated';
import type { ToolOutput } from './tool-shapes';

/** What a person decided on a run that works for a tool call. */
export interface DecidedBelow {
  /** The run that waited. */
  readonly runId: string;
  readonly decision: ApprovalDecision;
  readonly decidedBy?: string;
}

/** The run that a tool call is made for. */
export interface ToolRun {
  readonly key: RunKey;
  readonly account: Account;
  /**
   * Runs another task for this call, under the tenant and on the account of the run. Its id is made of the call's, so a call that is
   * made again goes on with what was done, and a tool that does nothing else may say that it is repeatable. Resolves with its answer
   * as the output of the tool; one that waits for a person makes the run wait. Never rejects. Undefined outside a task.
   *
   * @example
   * execute: ({ question }, context) => context.run.startChild({ agent: 'billing', message: question }, context)
   */
  readonly startChild?: (config: ChildConfig, call: ChildCall) => Promise<ToolOutput>;
}

export type ChildConfig = Omit<TaskConfigInput, 'approval'>;

/** The tool call that a run works for. */
export interface ChildCall {
  readonly toolCallId: string;
  readonly signal: AbortSignal;
  /** Set when the run waited, and a person has decided. */
  readonly decided?: DecidedBelow;
}

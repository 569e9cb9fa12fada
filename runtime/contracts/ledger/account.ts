import type { RuntimeError } from '../../errors/runtime-error';
import type { ModelReply, ModelRequest } from '../model';
import type { Spent } from './journal';
import type { CallPurpose, StepPurpose, Usage } from './usage';

/** A model call beside the steps of a run, before it is made. */
export interface PlannedCall {
  readonly purpose: Exclude<CallPurpose, StepPurpose>;
  /** Id in the price table. */
  readonly modelId: string;
  /** Tokens of the request, as well as they can be told before. */
  readonly promptTokens: number;
  /** Tokens of the reply at most. */
  readonly completionTokens: number;
}

/** A model call, and what came of it. */
export interface MadeCall {
  readonly request: ModelRequest;
  readonly reply?: ModelReply;
  readonly error?: RuntimeError;
}

/** The model call of a step, and what came of it. */
export interface SettledModelCall extends MadeCall {
  readonly step: number;
}

/**
 * Budget and spending of a run. All that calls a model for a run does so on its account: the usage counts towards the
 * limits of task and tenant, and stands on the one line of the task.
 *
 * @example
 * const callNo = await account.reserve({ purpose: 'summarise', modelId, promptTokens: 900, completionTokens: 300 });
 * const request = { modelId, messages, ...rest, attempts: { sent: 0, answered: 0 } };
 * const reply = await model.generate(request);
 * await account.charge(callNo, { request, reply });
 */
export interface Account {
  /**
   * Puts a call on record and keeps room for it, before it is made. Rejects with BUDGET_EXCEEDED, MODEL_UNPRICED where money is
   * limited, RUN_TAKEN_OVER, or a DB_ code where room cannot be kept; then the call must not be made.
   */
  readonly reserve: (call: PlannedCall) => Promise<number>;
  /**
   * Adds what a reserved call has used, also where it failed. Resolves with the usage, reported or estimated; undefined where nobody
   * knows it, which is listed as unknown usage. Rejects with RUN_TAKEN_OVER.
   */
  readonly charge: (callNo: number, made: MadeCall) => Promise<Usage | undefined>;
  /** The spending of the task so far, over all its runs. */
  readonly spent: () => Spent;
}

import type { JsonObject, JsonValue } from '../../util/json';

/** One step of a plan, as the planner wrote it. */
export interface PlannedStep {
  /** Work to do, in words. */
  readonly task: string;
  /**
   * Who does it: `loop` is the agent itself with all its tools, `skill` the same with a skill that it loads first, `agent` one of its
   * sub-agents, `tool` a call without a model.
   */
  readonly executor: 'loop' | 'skill' | 'agent' | 'tool';
  /** The name of the skill, the agent or the tool. */
  readonly name?: string;
  /** Arguments of the tool. */
  readonly arguments?: JsonObject;
}

/** Judgement on a step: `RETRY` does it once more, `REPLAN` asks for another plan, `ABORT` ends the run. */
export type Verdict = 'SUCCESS' | 'RETRY' | 'REPLAN' | 'ABORT';

/** Verdict of a supervisor. */
export interface Review {
  /** Undefined where what the model wrote cannot be read. */
  readonly verdict?: Verdict;
  /** Why, and what to do otherwise. */
  readonly feedback?: string;
}

/** Result of one try of a step. */
export interface StepAttempt extends Review {
  readonly status: 'ok' | 'error';
  readonly result: JsonValue;
}

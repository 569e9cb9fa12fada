import type { ErrorSummary } from '../errors/runtime-error';
import type { JsonObject, JsonValue } from '../util/json';
import type { StepPurpose } from './ledger/usage';
import type { PlannedStep, Review, StepAttempt } from './tools/plan';

export type RunStatus = 'completed' | 'max_iterations' | 'budget_exceeded' | 'cancelled' | 'awaiting_input' | 'failed';

/** One executed or refused tool call, in the order the model asked. */
export interface ToolCallReport {
  readonly tool: string;
  readonly arguments: JsonValue;
  readonly result?: JsonValue;
  readonly error?: JsonValue;
  readonly duration_ms: number;
}

/** A run that has worked for a tool call, with all that has worked for it in turn. Usage is that since it began, or went on. */
export interface RunShare {
  readonly task_id: string;
  readonly run_id: string;
  /** The agent that was asked. */
  readonly agent?: string;
  readonly tokens: number;
  /** US dollars rounded half up to 8 places, as text; a part of the cost of the task. */
  readonly cost_usd: string;
}

export type TraceEntry =
  | {
      readonly kind: 'model';
      readonly step: number;
      /** Undefined for a step of the work itself. */
      readonly purpose?: Exclude<StepPurpose, 'step'>;
      readonly model: string;
      readonly finish_reason: string;
      readonly prompt_tokens: number;
      readonly completion_tokens: number;
      readonly usage_estimated?: boolean;
      readonly cost_usd: string;
      readonly duration_ms: number;
    }
  | {
      readonly kind: 'tool';
      readonly step: number;
      readonly tool: string;
      readonly code?: string;
      readonly duration_ms: number;
      /** The agents and other runs that the call has started. */
      readonly runs?: readonly RunShare[];
    };

/** A step of a plan, and what it has come to in its last try. */
export interface PlanStepReport extends PlannedStep, Review {
  /** `pending`: not done; `waiting`: a person has to decide; `ok` and `error` tell how it ended, whatever the verdict. */
  readonly status: StepAttempt['status'] | 'pending' | 'waiting';
  readonly result?: JsonValue;
  /** The first try of a step that was done twice. */
  readonly retried?: StepAttempt;
}

/** The plan of a run. */
export interface PlanReport {
  readonly steps: readonly PlanStepReport[];
  /** Plans that this one has replaced, oldest first. */
  readonly replaced?: readonly Pick<PlanReport, 'steps'>[];
}

/** What a run gives back, in the words of the wire. */
export interface AgentResult {
  readonly task_id: string;
  readonly trace_id?: string;
  readonly run_id: string;
  readonly status: RunStatus;
  readonly result: { readonly text: string; readonly tool_calls: readonly ToolCallReport[] };
  /** The value of the answer, when an output format was asked for; `result.text` is what the model wrote. */
  readonly structured_output?: JsonValue;
  /** The last plan that was made, in the modes `plan` and `auto`. */
  readonly plan?: PlanReport;
  readonly model_used: string;
  readonly agent_tier: string;
  /** The agent that the task named, and where it was found: a row, this process, or rules alone. */
  readonly agent?: { readonly name: string; readonly source: 'virtual' | 'code' | 'rules'; readonly version?: number };
  /** The conversation that it is a part of. */
  readonly session_id?: string;
  /** Model calls made by this run. */
  readonly iterations: number;
  readonly tokens: {
    readonly prompt: number;
    readonly completion: number;
    readonly total: number;
    /** The part of prompt that was read from the provider's cache. */
    readonly cached: number;
    /** The part of prompt that was written into the provider's cache. */
    readonly cache_written: number;
    /** The part of completion that was reasoning. */
    readonly reasoning: number;
  };
  /** True when tokens and cost are, in part, an estimate: the provider did not report the usage of every response. */
  readonly usage_estimated?: boolean;
  /** US dollars rounded half up to 8 places, as text. */
  readonly cost_usd: string;
  /**
   * What the provider's cache has saved, rounded likewise, when it was used and the model has a price: negative where writing
   * into it cost more than reading from it saved.
   */
  readonly saved_usd?: string;
  /** The provider's own figure, when it gives one. */
  readonly provider_cost_usd?: string;
  readonly duration_ms: number;
  /** Warnings, each with what to do about it; replayed results of earlier builds have no hints. */
  readonly warnings: readonly (Omit<ErrorSummary, 'hint'> & Partial<ErrorSummary>)[];
  /** True when the model's last reply was cut off, by its token limit or by the provider. */
  readonly truncated?: boolean;
  /** True when the stored result of an earlier run of the same task came back and nothing was spent. */
  readonly replayed?: boolean;
  /** All variables of the run: those of the task, and what tools have set. Undefined where there are none. */
  readonly variables?: JsonObject;
  /** True when the run was paused after a step, with the status max_iterations: another run of the same task continues it. */
  readonly requires_followup?: boolean;
  /** What the run waits for, when its status is awaiting_input. */
  readonly awaiting?: AwaitedApproval;
  readonly trace?: readonly TraceEntry[];
}

/** A tool call that a person has to decide on. A task with `config.approval {run_id, decision}` goes on with it. */
export interface AwaitedApproval {
  readonly tool: string;
  readonly arguments: JsonValue;
  readonly reason: string;
}

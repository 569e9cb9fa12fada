/** Tokens as the provider counted them, or estimated. Whole numbers, never negative. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The part of promptTokens that came from the provider's cache. */
  readonly cachedTokens: number;
  /** The part of promptTokens that was written into the provider's cache, to be kept for about five minutes. */
  readonly cacheWriteTokens: number;
  /** The part of promptTokens that was written into the provider's cache, to be kept for an hour. */
  readonly cacheWrite1hTokens: number;
  /** The part of completionTokens that was reasoning. */
  readonly reasoningTokens: number;
}

/** US dollars for a million tokens, as decimal text. */
export interface ModelPrice {
  readonly modelId: string;
  readonly inputPer1M: string;
  readonly outputPer1M: string;
  /** Read from the provider's cache; as input without it. */
  readonly cachedInputPer1M?: string;
  /** Written into the provider's cache for about five minutes; as input without it. */
  readonly cacheWritePer1M?: string;
  /** Written into the provider's cache for an hour; as for five minutes without it. */
  readonly cacheWrite1hPer1M?: string;
  /** Written by the model before its answer; as output without it. */
  readonly reasoningPer1M?: string;
}

/** Purpose of a model call that is a step of a run: of the work itself, of making a plan, or of judging what a plan has come to. */
export type StepPurpose = 'step' | 'plan' | 'supervise';

/** Purpose of a model call: a step of a run, or something beside its steps. */
export type CallPurpose = StepPurpose | 'summarise' | 'classify' | 'judge' | 'embed';

const STEP_PURPOSES: ReadonlySet<CallPurpose> = new Set<StepPurpose>(['step', 'plan', 'supervise']);

/** Reports whether a model call is a step of its run, and not beside the steps. */
export function isStepCall({ purpose = 'step' }: Pick<ModelCallPlace, 'purpose'>): boolean {
  return STEP_PURPOSES.has(purpose);
}

/** Where a model call stands on record. */
export interface ModelCallPlace {
  /**
   * Its place among the model calls of the run, in the order in which they were opened. A run that goes on counts from the last step on
   * record. Default: `step`.
   */
  readonly callNo?: number;
  /** The step that it is, or was made in; 0 before the first one. Counted over all runs of the task. */
  readonly step: number;
  /** Default: `step`. */
  readonly purpose?: CallPurpose;
}

/** One ended model call, as the ledger keeps it. */
export interface ModelCallRecord extends ModelCallPlace {
  readonly modelRequested: string;
  /** The id that the provider named in its reply. */
  readonly modelReturned?: string;
  /** The model whose price was used. */
  readonly modelBilled: string;
  readonly providerRequestId?: string;
  readonly usage: Usage;
  /** Set where the usage, in whole or in part, was counted from the texts, since the provider reported none. */
  readonly usageEstimated?: true;
  /** Exact US dollars, not rounded, as decimal text. */
  readonly costUsd: string;
  /** Exact US dollars that the provider's cache has saved; negative where writing into it cost more. Undefined without a cache. */
  readonly savedUsd?: string;
  /** Set where the cost is, in whole or in part, the provider's own figure, since its tokens could not be relied upon. */
  readonly costBasis?: 'provider';
  /** The provider's own figure, as decimal text. */
  readonly providerCostUsd?: string;
  /** Requests of this call whose usage is unknown: without an answer, or with one that reports none. */
  readonly unansweredRequests: number;
  /** Set when the provider answered with an error. */
  readonly errorCode?: string;
}

/** What a run has used and cost so far. */
export interface RunTotals extends Pick<
  ModelCallRecord,
  'usage' | 'usageEstimated' | 'costUsd' | 'savedUsd' | 'providerCostUsd'
> {
  /** The model of the last call whose price was used. */
  readonly modelBilled: string;
}

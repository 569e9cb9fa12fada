import type { ModelReply, RequestAttempts } from '../contracts/model';
import type { ModelCallRecord, ModelPrice, RunTotals, Usage } from '../contracts/usage';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { callCost, callSaving, findPrice, roundCost, sumDecimals } from './cost';

const NO_USAGE: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
};

/** Counts a run's tokens and money, call by call. */
export interface UsageMeter {
  /** The record of an ended call; undefined when its usage is unknown, so that the ledger keeps it open. */
  readonly add: (call: EndedCall) => ModelCallRecord | undefined;
  readonly find: (callNo: number) => ModelCallRecord | undefined;
  /** Of the last call that was answered. */
  readonly lastUsage: () => Usage | undefined;
  readonly totals: () => RunTotals;
  readonly warnings: () => readonly ErrorSummary[];
}

interface EndedCall {
  readonly callNo: number;
  readonly attempts: RequestAttempts;
  readonly reply?: ModelReply;
  readonly errorCode?: string;
}

export function createUsageMeter(request: {
  readonly modelId: string;
  readonly prices: readonly ModelPrice[];
}): UsageMeter {
  const { modelId } = request;
  const calls: ModelCallRecord[] = [];
  const warnings = new Map<string, ErrorSummary>();
  const warn = (warning: ErrorSummary): void => void warnings.set(warning.message, warning);
  let unanswered = 0;
  /** Asked for several times between two calls. */
  let summed: RunTotals | undefined;

  const add = (call: EndedCall): ModelCallRecord | undefined => {
    const unansweredRequests = call.attempts.sent - call.attempts.answered;
    unanswered += unansweredRequests;
    // Never guessed: a call that died without an answer stays open in the ledger.
    if (call.reply === undefined && unansweredRequests > 0) return undefined;
    const record = { ...recordReply(call, request, warn), unansweredRequests };
    calls.push(record);
    summed = undefined;
    return record;
  };
  return {
    add,
    find: (callNo) => calls.find((call) => call.callNo === callNo),
    lastUsage: () => calls.at(-1)?.usage,
    totals: () => (summed ??= totals(calls, modelId)),
    warnings: () => [
      ...warnings.values(),
      ...(unanswered > 0 ? [describeError('USAGE_UNKNOWN', { count: unanswered })] : []),
    ],
  };
}

/** An answered call, priced by the model that was asked, else by the one that answered. */
function recordReply(
  { callNo, reply, errorCode }: EndedCall,
  { modelId, prices }: Parameters<typeof createUsageMeter>[0],
  warn: (warning: ErrorSummary) => void,
): Omit<ModelCallRecord, 'unansweredRequests'> {
  const asked = reply?.fallback?.name ?? modelId;
  const nothing = { callNo, modelRequested: asked, modelBilled: asked, usage: NO_USAGE, costUsd: '0', errorCode };
  if (reply === undefined) return nothing;
  const { usage, modelReturned, providerRequestId, providerCostUsd, fallback } = reply;
  if (fallback !== undefined) {
    warn(describeError('MODEL_FALLBACK', { model: modelId, code: fallback.code, fallback: asked }));
  }
  const answered = { ...nothing, modelReturned, providerRequestId, providerCostUsd };
  const price = findPrice(prices, [asked, modelReturned]);
  if (price === undefined) warn(describeError('USAGE_UNPRICED', { model: asked }));
  if (usage === undefined) {
    warn(describeError('USAGE_MISSING', { callNo }));
    return answered;
  }
  if (price === undefined) return { ...answered, usage };
  const costs = { costUsd: callCost(usage, price), savedUsd: callSaving(usage, price) };
  return { ...answered, usage, ...costs, modelBilled: price.modelId };
}

function totals(calls: readonly ModelCallRecord[], modelId: string): RunTotals {
  const sum = (key: keyof Usage): number => calls.reduce((total, call) => total + call.usage[key], 0);
  const providerCosts = calls.flatMap((call) => call.providerCostUsd ?? []);
  const savings = calls.flatMap((call) => call.savedUsd ?? []);
  return {
    usage: {
      promptTokens: sum('promptTokens'),
      completionTokens: sum('completionTokens'),
      cachedTokens: sum('cachedTokens'),
      cacheWriteTokens: sum('cacheWriteTokens'),
      cacheWrite1hTokens: sum('cacheWrite1hTokens'),
      reasoningTokens: sum('reasoningTokens'),
    },
    costUsd: roundCost(sumDecimals(calls.map((call) => call.costUsd))),
    savedUsd: savings.length === 0 ? undefined : roundCost(sumDecimals(savings)),
    providerCostUsd: providerCosts.length === 0 ? undefined : sumDecimals(providerCosts),
    modelBilled: calls.at(-1)?.modelBilled ?? modelId,
  };
}

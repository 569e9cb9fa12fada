import {
  isStepCall,
  type ModelCallPlace,
  type ModelCallRecord,
  type ModelPrice,
  type RunTotals,
  type Usage,
} from '../contracts/ledger/usage';
import type { ModelReply, RequestAttempts, WastedReply } from '../contracts/model';
import type { ErrorSummary } from '../errors/runtime-error';
import { type BillingWarnings, createBillingWarnings } from './billing-warnings';
import { chargeReply } from './charge-reply';
import { roundCost, sumDecimals } from './cost';

/** Counts a run's tokens and money, call by call. */
export interface UsageMeter {
  /** The record of an ended call; undefined when its usage is unknown, so that the ledger keeps it open. */
  readonly add: (call: EndedCall) => ModelCallRecord | undefined;
  /** Adds a call of a run that works for this one: it counts in the totals. */
  readonly addBelow: (call: ModelCallRecord) => void;
  /** The model call that a step is. */
  readonly find: (step: number) => ModelCallRecord | undefined;
  /** The usage of the last step that was answered. */
  readonly lastUsage: () => Usage | undefined;
  readonly totals: () => RunTotals;
  readonly warnings: () => readonly ErrorSummary[];
}

export interface EndedCall extends ModelCallPlace {
  /** Default: the model of the steps. */
  readonly modelId?: string;
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
  const below: ModelCallRecord[] = [];
  const warnings = createBillingWarnings();
  let last: Usage | undefined;
  /** Asked for several times between two calls. */
  let summed: RunTotals | undefined;

  const add = (call: EndedCall): ModelCallRecord | undefined => {
    const { sent, answered, wasted = [] } = call.attempts;
    warnings.unanswered(sent - answered);
    warnings.wasted(wasted.filter(({ usage, isEstimated }) => usage !== undefined && isEstimated !== true).length);
    // Never guessed: a call that died without an answer stays open in the ledger.
    if (call.reply === undefined && wasted.length === 0 && sent > answered) return undefined;
    const record = recordCall(call, { ...request, modelId: call.modelId ?? modelId }, warnings);
    if (isStepCall(call)) last = call.reply?.usage ?? record.usage;
    calls.push(record);
    summed = undefined;
    return record;
  };
  return {
    add,
    addBelow: (call) => {
      below.push(call);
      summed = undefined;
    },
    find: (step) => calls.find((call) => isStepCall(call) && call.step === step),
    lastUsage: () => last,
    totals: () => (summed ??= totals(calls, { below, modelId })),
    warnings: warnings.all,
  };
}

function recordCall(
  { callNo, step, purpose, reply, errorCode, attempts }: EndedCall,
  { modelId, prices }: Parameters<typeof createUsageMeter>[0],
  warnings: BillingWarnings,
): ModelCallRecord {
  if (reply !== undefined) warnings.replied(reply, modelId);
  const asked = reply?.fallback?.name ?? modelId;
  const paid = paidReplies(reply, attempts, asked);
  const charges = paid.map((used) => chargeReply(used, prices));
  for (const charge of charges) warnings.charged(charge, step);
  return {
    callNo,
    step,
    purpose,
    modelRequested: asked,
    modelBilled: charges.at(-1)?.modelBilled ?? asked,
    usage: sumUsage(charges),
    ...(paid.some(({ isEstimated }) => isEstimated === true) ? { usageEstimated: true } : {}),
    costUsd: sumDecimals(charges.map(({ costUsd }) => costUsd)),
    savedUsd: sumKnown(charges.map(({ savedUsd }) => savedUsd)),
    costBasis: charges.some(({ notes }) => notes.includes('provider')) ? 'provider' : undefined,
    errorCode,
    unansweredRequests:
      attempts.sent - attempts.answered + charges.filter(({ notes }) => notes.includes('missing')).length,
    ...reportedIn(paid),
  };
}

/** All that was paid for in one call: the replies that were no answer, and the one that was. */
function paidReplies(
  reply: ModelReply | undefined,
  { wasted = [] }: RequestAttempts,
  asked: string,
): readonly WastedReply[] {
  return reply === undefined ? wasted : [...wasted, { ...reply, modelId: asked }];
}

function reportedIn(
  paid: readonly WastedReply[],
): Pick<ModelCallRecord, 'modelReturned' | 'providerRequestId' | 'providerCostUsd'> {
  const { modelReturned, providerRequestId } = paid.at(-1) ?? {};
  return { modelReturned, providerRequestId, providerCostUsd: sumKnown(paid.map((one) => one.providerCostUsd)) };
}

/** Undefined when none is known. */
function sumKnown(values: readonly (string | undefined)[]): string | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : sumDecimals(known);
}

function sumUsage(parts: readonly { readonly usage: Usage }[]): Usage {
  if (parts.length === 1) return (parts[0] as (typeof parts)[number]).usage;
  const sum = (key: keyof Usage): number => parts.reduce((total, { usage }) => total + usage[key], 0);
  return {
    promptTokens: sum('promptTokens'),
    completionTokens: sum('completionTokens'),
    cachedTokens: sum('cachedTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    cacheWrite1hTokens: sum('cacheWrite1hTokens'),
    reasoningTokens: sum('reasoningTokens'),
  };
}

function totals(
  own: readonly ModelCallRecord[],
  { below, modelId }: { readonly below: readonly ModelCallRecord[]; readonly modelId: string },
): RunTotals {
  const calls = below.length === 0 ? own : [...own, ...below];
  const saved = sumKnown(calls.map(({ savedUsd }) => savedUsd));
  return {
    usage: sumUsage(calls),
    ...(calls.some(({ usageEstimated }) => usageEstimated === true) ? { usageEstimated: true } : {}),
    costUsd: roundCost(sumDecimals(calls.map(({ costUsd }) => costUsd))),
    savedUsd: saved === undefined ? undefined : roundCost(saved),
    providerCostUsd: sumKnown(calls.map(({ providerCostUsd }) => providerCostUsd)),
    modelBilled: own.findLast(isStepCall)?.modelBilled ?? modelId,
  };
}

import type { ModelPrice, Usage } from '../contracts/ledger/usage';
import type { WastedReply } from '../contracts/model';
import { callCost, callSaving, findPrice } from './cost';

export const NO_USAGE: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
};

/** What one reply of a provider costs. */
export interface Charge {
  readonly usage: Usage;
  /** Exact US dollars, as decimal text. */
  readonly costUsd: string;
  /** Exact US dollars that the provider's cache has saved; undefined without a cache, or where the cost is the provider's own. */
  readonly savedUsd?: string;
  readonly modelAsked: string;
  /** The model whose price was used. */
  readonly modelBilled: string;
  readonly notes: readonly ChargeNote[];
  /** The counts that contradict one another. */
  readonly contradiction?: string;
  /** What the provider says that it charges. */
  readonly reportedUsd?: string;
}

/**
 * `unpriced`, `missing`: there was no price, or nothing to apply it to. `provider`: the cost is the provider's own figure.
 * `differs`: it is not, and the two are not the same. `estimated`: the tokens were counted from the texts.
 */
export type ChargeNote = 'unpriced' | 'missing' | 'provider' | 'differs' | 'estimated';

/** Our price is what counts. The provider's own figure is taken where there is none, or the tokens that it reports cannot be relied upon. */
export function chargeReply(reply: WastedReply, prices: readonly ModelPrice[]): Charge {
  const { usage = NO_USAGE, modelId, modelReturned, ownKey, contradiction } = reply;
  const reportedUsd = ownKey === undefined ? reply.providerCostUsd : ownKey.costUsd;
  const price = findPrice(prices, [modelId, modelReturned]);
  const cost = costOf(reply, price, reportedUsd);
  const modelBilled = price?.modelId ?? modelId;
  const notes = reply.isEstimated === true ? [...cost.notes, 'estimated' as const] : cost.notes;
  return { usage, modelAsked: modelId, modelBilled, contradiction, reportedUsd, ...cost, notes };
}

function costOf(
  reply: WastedReply,
  price: ModelPrice | undefined,
  reportedUsd: string | undefined,
): Pick<Charge, 'costUsd' | 'savedUsd' | 'notes'> {
  const { usage } = reply;
  if ((!isReliable(reply) || price === undefined) && Number(reportedUsd) > 0) {
    return { costUsd: reportedUsd as string, notes: isReliable(reply) ? ['unpriced', 'provider'] : ['provider'] };
  }
  if (usage === undefined) return { costUsd: '0', notes: price === undefined ? ['unpriced', 'missing'] : ['missing'] };
  if (price === undefined) return { costUsd: '0', notes: ['unpriced'] };
  const costUsd = callCost(usage, price);
  return { costUsd, savedUsd: callSaving(usage, price), notes: isDifferent(costUsd, reportedUsd) ? ['differs'] : [] };
}

function isReliable({ usage, isForeignUsage, isEstimated }: WastedReply): boolean {
  return usage !== undefined && isForeignUsage !== true && isEstimated !== true;
}

const MOST_OF_THEIRS = 0.01;
/** Providers round to the sixth place at the most. */
const ROUNDING_USD = 0.000_000_5;

function isDifferent(ours: string, theirs: string | undefined): boolean {
  if (theirs === undefined) return false;
  const difference = Math.abs(Number(ours) - Number(theirs));
  // A part in a billion for what floats lose: a difference of exactly 1 % is none.
  return difference > Number(theirs) * MOST_OF_THEIRS * (1 + 1e-9) && difference > ROUNDING_USD * (1 + 1e-9);
}

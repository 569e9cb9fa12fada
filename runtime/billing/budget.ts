import Big from 'big.js';

import type { Spent } from '../contracts/ledger/journal';
import type { Reservation } from '../contracts/ledger/ledger';
import type { ModelPrice, Usage } from '../contracts/ledger/usage';
import type { TenantSettings } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { dearestCost, higher, sumDecimals } from './cost';

/** What a run may spend. */
export interface Budget {
  /** The tenant's limits of a month; undefined where there are none. */
  readonly monthly?: Pick<Reservation, 'costLimitUsd' | 'tokenLimit'>;
  /** US dollars of this run, as decimal text. */
  readonly maxCostUsd?: string;
  readonly maxTotalTokens?: number;
}

const DECIMAL = /^\d+(\.\d+)?$/;

/** The limits of tenant and task. Throws SETTING_INVALID: a limit that cannot be read must not fall away. */
export function readBudget(
  settings: TenantSettings,
  task: { readonly max_cost_usd?: string; readonly max_total_tokens?: number },
): Budget {
  const costLimitUsd = readLimit('monthly_cost_limit_usd', settings.monthlyCostLimitUsd);
  const tokenLimit = readLimit('monthly_token_limit', settings.monthlyTokenLimit);
  const isLimited = costLimitUsd !== undefined || tokenLimit !== undefined;
  return {
    monthly: isLimited ? { costLimitUsd, tokenLimit } : undefined,
    maxCostUsd: task.max_cost_usd,
    maxTotalTokens: task.max_total_tokens,
  };
}

function readLimit(setting: string, text: string | undefined): string | undefined {
  if (text === undefined || DECIMAL.test(text)) return text;
  throw new RuntimeError('SETTING_INVALID', { setting, reason: 'it is not a decimal number' });
}

/** Room for one model call in the tenant's month: its tokens as they are expected, at the highest of the prices that they may have. */
export function reservation(
  { monthly }: Budget,
  call: Pick<Usage, 'promptTokens' | 'completionTokens'>,
  prices: readonly ModelPrice[],
): Reservation | undefined {
  if (monthly === undefined) return undefined;
  return {
    ...monthly,
    holdCostUsd: prices.map((price) => dearestCost(call, price)).reduce(higher, '0'),
    holdTokens: call.promptTokens + call.completionTokens,
  };
}

export const NOTHING_SPENT: Spent = { costUsd: '0', tokens: 0 };

/** Adds the spending of both parts of a run that was interrupted for approval. */
export function addSpent(one: Spent, other: Spent): Spent {
  return { costUsd: sumDecimals([one.costUsd, other.costUsd]), tokens: one.tokens + other.tokens };
}

/** The larger figures of two sums over the same calls, either of which may lack some. */
export function mostSpent(one: Spent, other: Spent): Spent {
  return { costUsd: higher(one.costUsd, other.costUsd), tokens: Math.max(one.tokens, other.tokens) };
}

/** Throws BUDGET_EXCEEDED when this run has used up what one run may. */
export function assertRunBudget({ maxCostUsd, maxTotalTokens }: Budget, spentSoFar: () => Spent): void {
  if (maxCostUsd === undefined && maxTotalTokens === undefined) return;
  const spent = spentSoFar();
  if (maxCostUsd !== undefined && new Big(spent.costUsd).gte(maxCostUsd)) {
    throw new RuntimeError('BUDGET_EXCEEDED', { limit: "run's cost limit", amount: `$${maxCostUsd}` });
  }
  if (maxTotalTokens !== undefined && spent.tokens >= maxTotalTokens) {
    throw new RuntimeError('BUDGET_EXCEEDED', { limit: "run's token limit", amount: `${maxTotalTokens} tokens` });
  }
}

/** The tenant's month is used up, or held by runs under way for as long as this one could wait. */
export function budgetExceeded(reserve: Reservation | undefined): RuntimeError {
  const limits = [
    reserve?.costLimitUsd === undefined ? '' : `$${reserve.costLimitUsd}`,
    reserve?.tokenLimit === undefined ? '' : `${reserve.tokenLimit} tokens`,
  ];
  return new RuntimeError('BUDGET_EXCEEDED', {
    limit: "tenant's monthly limit",
    amount: limits.filter((text) => text !== '').join(' or '),
  });
}

/** The highest number that the database counts to. */
const MAX_COUNT = 2_147_483_647;

/** How many runs of the tenant may begin a minute; undefined: any number. Throws SETTING_INVALID. */
export function readRunsPerMinute({ runsPerMinute: text }: TenantSettings): number | undefined {
  if (text === undefined) return undefined;
  const runs = Number(text);
  if (/^\d+$/.test(text) && runs > 0 && runs <= MAX_COUNT) return runs;
  throw new RuntimeError('SETTING_INVALID', { setting: 'runs_per_minute', reason: 'it is not a whole number above 0' });
}

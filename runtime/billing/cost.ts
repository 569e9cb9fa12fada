import Big from 'big.js';

import type { ModelPrice, Usage } from '../contracts/usage';

/** Places of cost_usd in the ledger. */
const COST_PLACES = 8;

/** Exact US dollars of one call: tokens times price, not rounded. */
export function callCost(usage: Usage, price: ModelPrice): string {
  return new Big(usage.promptTokens)
    .times(price.inputPer1M)
    .plus(new Big(usage.completionTokens).times(price.outputPer1M))
    .times('0.000001')
    .toFixed();
}

/** The exact sum of decimal texts. */
export function sumDecimals(values: readonly string[]): string {
  return values.reduce((sum, value) => sum.plus(value), new Big(0)).toFixed();
}

/** Rounded half up to 8 places, once, when it is shown: the ledger rounds the same way. */
export function roundCost(exact: string): string {
  return new Big(exact).round(COST_PLACES, Big.roundHalfUp).toFixed(COST_PLACES);
}

/** The price of the model that was asked, else of the one that answered. */
export function findPrice(prices: readonly ModelPrice[], ids: readonly (string | undefined)[]): ModelPrice | undefined {
  for (const id of ids) {
    const price = prices.find((candidate) => candidate.modelId === id);
    if (price !== undefined) return price;
  }
  return undefined;
}

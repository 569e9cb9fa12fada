import Big from 'big.js';

import type { ModelPrice, Usage } from '../contracts/ledger/usage';

/** Places of cost_usd in the ledger. */
const COST_PLACES = 8;

/** Exact US dollars of one call: each kind of token times its price, not rounded. */
export function callCost(usage: Usage, price: ModelPrice): string {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens } = usage;
  const rates = ratesOf(price);
  return inDollars([
    [promptTokens - cachedTokens - cacheWriteTokens - cacheWrite1hTokens, rates.input],
    [cachedTokens, rates.cachedInput],
    [cacheWriteTokens, rates.cacheWrite],
    [cacheWrite1hTokens, rates.cacheWrite1h],
    [completionTokens - reasoningTokens, rates.output],
    [reasoningTokens, rates.reasoning],
  ]).toFixed();
}

/**
 * Exact US dollars that a call's cache has saved: what its tokens would have cost as plain input, less what they cost. Net, so
 * it is negative where writing into the cache cost more than reading from it saved. Undefined when no cache was used.
 */
export function callSaving(usage: Usage, price: ModelPrice): string | undefined {
  if (usage.cachedTokens + usage.cacheWriteTokens + usage.cacheWrite1hTokens === 0) return undefined;
  const plain = { ...usage, cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
  return new Big(callCost(plain, price)).minus(callCost(usage, price)).toFixed();
}

/** Exact US dollars of a call if each of its tokens is of the dearest kind. */
export function dearestCost(call: Pick<Usage, 'promptTokens' | 'completionTokens'>, price: ModelPrice): string {
  const rates = ratesOf(price);
  return inDollars([
    [call.promptTokens, [rates.cachedInput, rates.cacheWrite, rates.cacheWrite1h].reduce(higher, rates.input)],
    [call.completionTokens, higher(rates.output, rates.reasoning)],
  ]).toFixed();
}

/** The larger of two decimal texts. */
export function higher(one: string, other: string): string {
  return new Big(one).gte(other) ? one : other;
}

/** Every kind of token has a price, its own or that of the kind that it counts as. */
export function ratesOf(price: ModelPrice): Readonly<Record<TokenKind, string>> {
  const { inputPer1M: input, outputPer1M: output, cachedInputPer1M, cacheWritePer1M, reasoningPer1M } = price;
  const cacheWrite = cacheWritePer1M ?? input;
  const cacheWrite1h = price.cacheWrite1hPer1M ?? cacheWrite;
  return {
    input,
    cachedInput: cachedInputPer1M ?? input,
    cacheWrite,
    cacheWrite1h,
    output,
    reasoning: reasoningPer1M ?? output,
  };
}

type TokenKind = 'input' | 'cachedInput' | 'cacheWrite' | 'cacheWrite1h' | 'output' | 'reasoning';

function inDollars(parts: readonly (readonly [tokens: number, per1M: string])[]): Big {
  return parts
    .filter(([tokens]) => tokens > 0)
    .reduce((sum, [tokens, per1M]) => sum.plus(new Big(tokens).times(per1M)), new Big(0))
    .times('0.000001');
}

/** The exact sum of decimal texts. */
export function sumDecimals(values: readonly string[]): string {
  return values.reduce((sum, value) => sum.plus(value), new Big(0)).toFixed();
}

/** Rounded half up to 8 places, once, when it is shown: the ledger rounds the same way. */
export function roundCost(exact: string): string {
  return new Big(exact).round(COST_PLACES, Big.roundHalfUp).toFixed(COST_PLACES);
}

/**
 * The price of the model that was asked, else of the one that answered: under its id, else under another spelling of it, where
 * there is only one.
 */
export function findPrice(prices: readonly ModelPrice[], ids: readonly (string | undefined)[]): ModelPrice | undefined {
  for (const id of ids) {
    if (id === undefined) continue;
    const price = prices.find((candidate) => candidate.modelId === id) ?? findSpelling(prices, id);
    if (price !== undefined) return price;
  }
  return undefined;
}

/** Two rows that spell one id differently and cost differently: neither can be taken. */
function findSpelling(prices: readonly ModelPrice[], id: string): ModelPrice | undefined {
  const wanted = spelling(id);
  const [found, ...more] = prices.filter((candidate) => spelling(candidate.modelId) === wanted);
  return more.length === 0 ? found : undefined;
}

/**
 * What two spellings of one id share: `Anthropic/Claude-3.5-Sonnet`, `anthropic:claude-3-5-sonnet`. A variant (`:free`), a date
 * and a missing vendor are not spellings: such a model may be billed otherwise.
 */
function spelling(id: string): string {
  const lower = id
    .trim()
    .toLowerCase()
    .replaceAll(/(?<=\d)[.](?=\d)/g, '-');
  return lower.includes('/') ? lower : lower.replace(':', '/');
}

/** Whether any of its tokens is known to cost something. */
export function isPriced(prices: readonly ModelPrice[], id: string): boolean {
  const price = findPrice(prices, [id]);
  return price !== undefined && Object.values(ratesOf(price)).some((rate) => new Big(rate).gt(0));
}

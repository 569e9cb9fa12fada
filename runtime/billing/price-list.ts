import Big from 'big.js';

import type { ModelPrice } from '../contracts/ledger/usage';
import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../util/json';
import { turn } from '../util/turn';
import { ratesOf } from './cost';

/** A model that a provider lists, with its price as far as ours can say it. */
export interface ListedModel {
  readonly modelId: string;
  readonly price?: ModelPrice;
  /** Why it has none. */
  readonly reason?: string;
  /** Names of further prices, for what tokens do not count and runs do not use, such as `web_search`. */
  readonly besideTokens?: readonly string[];
}

export interface PriceList {
  readonly models: readonly ListedModel[];
  /** Where the list goes on, when this is one page of it. */
  readonly next?: string;
}

const ID = /^[!-~]{1,100}$/;
const MAX_SHOWN_ID = 200;
/** A number with an exponent of many digits would be written out to as many. */
const DECIMAL = /^-?\d{1,9}(\.\d{1,24})?(e-?\d{1,2})?$/i;
const MOST_PER_1M = 100_000;
const MOST_MODELS = 20_000;
/** OpenRouter's own have some sixty each. */
const MOST_VALUES = 100 * MOST_MODELS;

/**
 * What a provider answers to `GET /models`, as OpenRouter publishes it: `data[].id` and `pricing`, US dollars a token as
 * decimal text. Rejects with PRICE_LIST_INVALID.
 */
export async function readPriceList(text: string): Promise<PriceList> {
  const parsed = tryParseJson(text.replace(/^\ufeff/, ''), MOST_VALUES);
  if (!parsed.ok) throw new RuntimeError('PRICE_LIST_INVALID', { reason: `it cannot be read: ${parsed.reason}` });
  const { data, links } = isJsonObject(parsed.value) ? parsed.value : {};
  if (!Array.isArray(data)) throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it has no list "data"' });
  if (data.length > MOST_MODELS) {
    throw new RuntimeError('PRICE_LIST_INVALID', { reason: `it has more than ${MOST_MODELS} models` });
  }
  const models: ListedModel[] = [];
  for (const [at, listed] of (data as readonly JsonValue[]).entries()) {
    await turn();
    models.push(readModel(listed, at));
  }
  if (models.every(({ reason }) => reason === WITHOUT_ID)) {
    throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it has no model with an id' });
  }
  const next = isJsonObject(links) ? links.next : undefined;
  return { models, ...(typeof next === 'string' && next !== '' ? { next } : {}) };
}

/** The pages of a list as one. A model that stands twice with two prices has none that could be trusted. */
export function joinLists(lists: readonly PriceList[]): readonly ListedModel[] {
  const known = new Map<string, ListedModel>();
  const onPage = (model: ListedModel, page: number): ListedModel =>
    model.reason === WITHOUT_ID ? { ...model, modelId: `${model.modelId}, page ${page + 1}` } : model;
  const all =
    lists.length === 1 ? lists : lists.map(({ models }, page) => ({ models: models.map((one) => onPage(one, page)) }));
  for (const model of all.flatMap(({ models }) => models)) {
    const first = known.get(model.modelId);
    const isSame = first === undefined || samePrice(first.price, model.price);
    known.set(model.modelId, isSame ? model : { modelId: model.modelId, reason: 'it stands twice, with two prices' });
  }
  return [...known.values()];
}

export function samePrice(one: ModelPrice | undefined, other: ModelPrice | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const rates = ratesOf(other);
  return Object.entries(ratesOf(one)).every(([kind, rate]) => new Big(rate).eq(rates[kind as keyof typeof rates]));
}

const WITHOUT_ID = 'it has no id';

function readModel(listed: JsonValue, at: number): ListedModel {
  const { id, pricing } = isJsonObject(listed) ? listed : {};
  if (typeof id !== 'string' || id === '') return { modelId: `entry ${at + 1} of the list`, reason: WITHOUT_ID };
  if (!ID.test(id)) return { modelId: id.slice(0, MAX_SHOWN_ID), reason: 'its id is not 1 to 100 ASCII characters' };
  const read = isJsonObject(pricing) ? readPrice(id, pricing) : 'it has no price';
  if (typeof read === 'string') return { modelId: id, reason: read };
  const besideTokens = isJsonObject(pricing) ? pricesBesideTokens(pricing) : [];
  return { modelId: id, price: read, ...(besideTokens.length === 0 ? {} : { besideTokens }) };
}

/** The price, or why there is none: one that holds only at times or only for a part of the calls would bill the others wrongly. */
function readPrice(modelId: string, pricing: JsonObject): ModelPrice | string {
  const reason = unsayable(pricing);
  if (reason !== undefined) return reason;
  const [input, output] = [perMillion(pricing.prompt), perMillion(pricing.completion)];
  if (input === undefined || output === undefined) return 'its price for prompt or completion cannot be read';
  if (input.lt(0) || output.lt(0)) return 'its price is that of whichever model answers';
  const unread = OPTIONAL.find((name) => isOther(pricing[name]) && perMillion(pricing[name]) === undefined);
  if (unread !== undefined) return `its price "${unread}" cannot be read`;
  const [cached, write, write1h, reasoning] = OPTIONAL.map((name) => perMillion(pricing[name]));
  const fee = feeOf(modelId, pricing, input.plus(output).eq(0));
  if (fee !== undefined) return fee;
  const all = [input, output, cached, write, write1h, reasoning].filter((price) => price !== undefined);
  if (all.some((price) => price.gt(MOST_PER_1M))) {
    return `its price is above $${MOST_PER_1M} for a million tokens, so it is hardly one for a token`;
  }
  return {
    modelId,
    inputPer1M: input.toFixed(),
    outputPer1M: output.toFixed(),
    ...optionalPrice('cachedInputPer1M', cached),
    ...optionalPrice('cacheWritePer1M', aboveInput(write, input)),
    ...optionalPrice('cacheWrite1hPer1M', aboveInput(write1h, input)),
    ...optionalPrice('reasoningPer1M', reasoning),
  };
}

/** Models that search the web whether or not they are asked to. */
const SEARCHES = /^perplexity\/|:online$/;

const OPTIONAL = ['input_cache_read', 'input_cache_write', 'input_cache_write_1h', 'internal_reasoning'];

/** What our price table has no column for. */
function unsayable(pricing: JsonObject): string | undefined {
  const { overrides, discount, request } = pricing;
  if (Array.isArray(overrides) ? overrides.length > 0 : isJsonObject(overrides)) {
    return 'its price depends on the length of the prompt or on the time';
  }
  if (isOther(discount)) return 'it has a discount';
  if (isOther(request)) return 'it has a fee for each request';
  const unknown = pricesBesideTokens(pricing).find((name) => !BESIDE_TOKENS.has(name));
  return unknown === undefined ? undefined : `its price has "${unknown.slice(0, 60)}", which is not known here`;
}

/** Reports a fee that is charged instead of tokens, or for each request. */
function feeOf(modelId: string, pricing: JsonObject, isFree: boolean): string | undefined {
  const beside = pricesBesideTokens(pricing);
  if (isFree && beside.length > 0) return `its price is for ${beside.join(', ')}, not for tokens`;
  const searches = beside.includes('web_search') && SEARCHES.test(modelId);
  return searches ? 'each of its requests searches the web, at a fee' : undefined;
}

const OF_TOKENS: ReadonlySet<string> = new Set([
  'prompt',
  'completion',
  'request',
  'discount',
  'overrides',
  ...OPTIONAL,
]);

/** Prices of OpenRouter for what runs do not use, https://openrouter.ai/docs/client-sdks/typescript/models/pricing. */
const BESIDE_TOKENS: ReadonlySet<string> = new Set([
  ...['image', 'image_token', 'image_output', 'audio', 'audio_output', 'input_audio_cache', 'web_search'],
]);

function pricesBesideTokens(pricing: JsonObject): readonly string[] {
  return Object.keys(pricing).filter((name) => !OF_TOKENS.has(name) && isOther(pricing[name]));
}

function isOther(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && Number(value) !== 0;
}

function perMillion(value: JsonValue | undefined): Big | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && DECIMAL.test(text) ? new Big(text).times(1_000_000) : undefined;
}

/** Lists write zero where a kind has no price of its own. */
function optionalPrice(name: keyof ModelPrice, price: Big | undefined): Partial<ModelPrice> {
  return price === undefined || price.lte(0) ? {} : { [name]: price.toFixed() };
}

/** A write that is cheaper than the input itself is not the whole price of one, but a surcharge for keeping it. */
function aboveInput(write: Big | undefined, input: Big): Big | undefined {
  return write?.lt(input) === true ? undefined : write;
}

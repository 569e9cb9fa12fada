import type { Usage } from '../contracts/ledger/usage';
import type { ReplyUsage } from '../contracts/model';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../util/json';

type ReportedUsage = Omit<ReplyUsage, 'modelReturned' | 'providerRequestId'>;

/** Returns the usage of a reply or a chunk, which some servers put into its choice, its delta or, as Groq, a field of their own. */
export function usageIn(reply: JsonObject, choice: JsonValue | undefined): JsonValue | undefined {
  const { delta, ...inChoice } = isJsonObject(choice) ? choice : {};
  const places = [delta, inChoice, reply.x_groq, reply];
  return places.reduce<JsonValue | undefined>(
    (known, place) => highest(known, isJsonObject(place) ? place.usage : undefined),
    undefined,
  );
}

/** More counts than any provider reports. */
const MOST_COUNTS = 100;

/** The higher of two readings of the usage, count by count: some providers send running totals, some zeros at the end. */
export function highest(before: JsonValue | undefined, now: JsonValue | undefined): JsonValue | undefined {
  if (typeof before === 'number') return typeof now === 'number' ? Math.max(before, now) : before;
  if (!isJsonObject(before)) return now ?? before;
  if (!isJsonObject(now)) return before;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  if (keys.length > MOST_COUNTS) return now;
  return Object.fromEntries(keys.map((key) => [key, highest(before[key], now[key]) ?? null]));
}

/** The usage object of a reply, in whichever of the known ways the provider counts. */
export function readUsage(raw: JsonValue | undefined): ReportedUsage {
  return isJsonObject(raw) ? { ...readTokens(raw), ...readCost(raw) } : {};
}

function readTokens(raw: JsonObject): ReportedUsage {
  const sides = readSides(raw);
  if (sides === undefined) return {};
  const { prompt, completion } = sides;
  const input = readInput(raw, { prompt, completion });
  const output = readOutput(raw, { prompt: input.promptTokens, completion, total: input.total });
  const usage: Usage = {
    promptTokens: input.promptTokens,
    completionTokens: output.completionTokens,
    cachedTokens: input.cachedTokens,
    cacheWriteTokens: input.cacheWriteTokens,
    cacheWrite1hTokens: input.cacheWrite1hTokens,
    reasoningTokens: output.reasoningTokens,
  };
  if (Math.max(usage.promptTokens, usage.completionTokens) > MAX_TOKENS_OF_ONE_CALL) return {};
  const contradiction =
    sides.lacking === undefined
      ? output.contradiction
      : `${sides.lacking} were read as ${usage.promptTokens} + ${usage.completionTokens}`;
  return {
    usage,
    ...(isForeign(raw) ? { isForeignUsage: true } : {}),
    ...(contradiction === undefined ? {} : { contradiction }),
  };
}

interface Sides {
  readonly prompt: number;
  readonly completion: number;
  /** What was reported, where one of the two was not, or where one was in two ways. */
  readonly lacking?: string;
}

function readSides(raw: JsonObject): Sides | undefined {
  const prompt = higher(raw.prompt_tokens, raw.input_tokens);
  const completion = higher(raw.completion_tokens, raw.output_tokens);
  if (prompt !== undefined && completion !== undefined) return { prompt, completion, ...twoNames(raw) };
  const isNonsense =
    (prompt === undefined && isGiven(raw.prompt_tokens, raw.input_tokens)) ||
    (completion === undefined && isGiven(raw.completion_tokens, raw.output_tokens));
  return isNonsense ? undefined : completeSides({ prompt, completion, total: count(raw.total_tokens) });
}

/** The higher of the counts that a side has under its two names. */
function higher(...names: readonly (JsonValue | undefined)[]): number | undefined {
  const counts = names.map(count).filter((one) => one !== undefined);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

/** Says which side was taken from its second name, as that one has more. */
function twoNames(raw: JsonObject): Pick<Sides, 'lacking'> {
  const pairs = {
    completion: [raw.completion_tokens, raw.output_tokens],
    prompt: [raw.prompt_tokens, raw.input_tokens],
  };
  const told = Object.entries(pairs).flatMap(([side, names]) => {
    const [one = Infinity, other = 0] = names.map(count);
    return one === 0 || other <= one ? [] : [`${one} and ${other} ${side} tokens`];
  });
  return told.length === 0 ? {} : { lacking: told.join(', ') };
}

function isGiven(...values: readonly (JsonValue | undefined)[]): boolean {
  return values.some((value) => value !== undefined && value !== null);
}

/** The side that is missing is what the total has beyond the other; a total alone is billed as output, the highest reading. */
function completeSides(given: Partial<Record<'prompt' | 'completion' | 'total', number>>): Sides | undefined {
  const { prompt = 0, completion = 0, total = 0 } = given;
  if (prompt + completion + total === 0) return undefined;
  const rest = Math.max(0, total - prompt - completion);
  const told = (name: keyof typeof given): string => String(given[name] ?? 'no');
  const lacking = `${told('prompt')} prompt and ${told('completion')} completion tokens of ${told('total')} in all`;
  return given.completion === undefined ? { prompt, completion: rest, lacking } : { prompt: rest, completion, lacking };
}

function isForeign({ prompt_tokens, completion_tokens }: JsonObject): boolean {
  return count(prompt_tokens) === undefined || count(completion_tokens) === undefined;
}

type InputTokens = Pick<Usage, 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'cacheWrite1hTokens'> & {
  readonly total?: number;
};

/**
 * Cached tokens are a part of the prompt for nearly everybody. Anthropic counts them beside it, and what forwards its figures
 * may leave them there: then they are added to it.
 */
function readInput(
  raw: JsonObject,
  { prompt, completion }: { readonly prompt: number; readonly completion: number },
): InputTokens {
  const cached = cachedTokens(raw);
  const { written, writtenFor1h } = writtenTokens(raw);
  const total = count(raw.total_tokens);
  if (isBesidePrompt(raw, { prompt, completion, ofCache: cached + written })) {
    const whole = prompt + cached + written;
    const totalOfWhole = total === prompt + completion ? whole + completion : total;
    return { ...parts({ prompt: whole, cached, written, writtenFor1h }), total: totalOfWhole };
  }
  return { ...parts({ prompt, cached, written, writtenFor1h }), total };
}

/** The parts do not overlap, and are no more than the whole. */
function parts(given: {
  readonly prompt: number;
  readonly cached: number;
  readonly written: number;
  readonly writtenFor1h: number;
}): InputTokens {
  const cachedTokens = Math.min(given.cached, given.prompt);
  const written = Math.min(given.written, given.prompt - cachedTokens);
  const cacheWrite1hTokens = Math.min(given.writtenFor1h, written);
  return {
    promptTokens: given.prompt,
    cachedTokens,
    cacheWriteTokens: written - cacheWrite1hTokens,
    cacheWrite1hTokens,
  };
}

function isBesidePrompt(
  { cache_read_input_tokens: read, cache_creation_input_tokens: created, prompt_tokens, total_tokens }: JsonObject,
  { prompt, completion, ofCache }: { readonly prompt: number; readonly completion: number; readonly ofCache: number },
): boolean {
  if (ofCache === 0 || (read === undefined && created === undefined)) return false;
  // Routers leave the names of others at zero.
  const isNamedAsByAnthropic = (count(prompt_tokens) ?? 0) === 0;
  return isNamedAsByAnthropic || ofCache > prompt || total_tokens === prompt + completion + ofCache;
}

/** Under the names of OpenAI, DeepSeek, Anthropic, and Moonshot or Together, in this order. */
function cachedTokens(raw: JsonObject): number {
  const { cached_tokens } = inputDetails(raw);
  return firstOf(cached_tokens, raw.prompt_cache_hit_tokens, raw.cache_read_input_tokens, raw.cached_tokens);
}

/** OpenRouter, LiteLLM and Anthropic name the sum; the two last ones also what is kept for five minutes and for an hour. */
function writtenTokens(raw: JsonObject): { readonly written: number; readonly writtenFor1h: number } {
  const details = inputDetails(raw);
  const { cache_write_tokens, cache_creation_tokens } = details;
  const byTime = objectOf(raw.cache_creation ?? details.cache_creation_token_details);
  const writtenFor1h = firstOf(byTime.ephemeral_1h_input_tokens);
  const sum = firstOf(cache_write_tokens, cache_creation_tokens, raw.cache_creation_input_tokens);
  return { written: Math.max(sum, firstOf(byTime.ephemeral_5m_input_tokens) + writtenFor1h), writtenFor1h };
}

function inputDetails(raw: JsonObject): JsonObject {
  return objectOf(raw.prompt_tokens_details ?? raw.input_tokens_details);
}

interface OutputTokens extends Pick<Usage, 'completionTokens' | 'reasoningTokens'> {
  readonly contradiction?: string;
}

/**
 * Reasoning is counted within the completion (OpenAI), or beside it, which the total shows (xAI, Gemini). Figures that fit neither are
 * billed as the highest of the readings: what the total has beyond the two is output that has no name.
 */
function readOutput(
  raw: JsonObject,
  given: { readonly prompt: number; readonly completion: number; readonly total?: number },
): OutputTokens {
  const { prompt, completion, total } = given;
  const reasoning = firstOf(outputDetails(raw).reasoning_tokens, raw.reasoning_tokens);
  const beyond = total === undefined ? 0 : total - prompt - completion;
  if (beyond === 0 && reasoning <= completion) return { completionTokens: completion, reasoningTokens: reasoning };
  if (beyond === reasoning) return { completionTokens: completion + reasoning, reasoningTokens: reasoning };
  const isWithin = reasoning <= completion;
  const beside = Math.max(0, beyond, isWithin ? 0 : reasoning);
  const completionTokens = completion + beside;
  const reported = `${prompt} prompt, ${completion} completion and ${reasoning} reasoning tokens`;
  return {
    completionTokens,
    reasoningTokens: isWithin ? reasoning + beside : beside,
    contradiction: `${reported} of ${total ?? 'no'} in all were read as ${prompt} + ${completionTokens}`,
  };
}

function outputDetails(raw: JsonObject): JsonObject {
  return objectOf(raw.completion_tokens_details ?? raw.output_tokens_details);
}

/** Routers that translate leave names of others at zero. */
function firstOf(...values: readonly (JsonValue | undefined)[]): number {
  for (const value of values) {
    const found = count(value);
    if (found !== undefined && found > 0) return found;
  }
  return 0;
}

/** No context window is larger; such a figure is nonsense, must not be billed, and would not fit into the ledger. */
const MAX_TOKENS_OF_ONE_CALL = 20_000_000;

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS_OF_ONE_CALL
    ? value
    : undefined;
}

const TICKS_PER_USD = 1e10;

function readCost(raw: JsonObject): ReportedUsage {
  const providerCostUsd = costFigure(raw);
  const ownKey = readOwnKey(raw, providerCostUsd);
  return {
    ...(providerCostUsd === undefined ? {} : { providerCostUsd }),
    ...(ownKey === undefined ? {} : { ownKey }),
  };
}

/** OpenRouter and most name a figure, Perplexity an object with a sum, xAI its ticks. */
function costFigure({ cost, cost_in_usd_ticks: ticks }: JsonObject): string | undefined {
  const figure = isJsonObject(cost) ? cost.total_cost : cost;
  return decimalText(figure ?? (typeof ticks === 'number' ? ticks / TICKS_PER_USD : undefined));
}

/** OpenRouter's word for it is newer than the figure, which is more than its own only where somebody else charged it. */
function readOwnKey({ is_byok, cost_details }: JsonObject, costUsd = '0'): ReplyUsage['ownKey'] {
  const upstream = decimalText(objectOf(cost_details).upstream_inference_cost);
  if (is_byok === false) return undefined;
  if (is_byok !== true && Number(upstream ?? 0) <= Number(costUsd)) return undefined;
  return upstream === undefined || upstream === '0' ? {} : { costUsd: upstream };
}

const MAX_COST_OF_ONE_CALL_USD = 100_000;

function decimalText(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > MAX_COST_OF_ONE_CALL_USD)
    return undefined;
  return value.toFixed(12).replace(/\.?0+$/, '');
}

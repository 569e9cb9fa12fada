import { createPriceAdmin, type PriceAdmin } from '../../admin/prices';
import type { ModelPrice } from '../../contracts/usage';
import { type Options, UsageError } from '../arguments';
import { openDatabase } from '../environment';
import { printJson } from '../output';
import { readListedModels } from '../price-source';

interface Call {
  readonly words: readonly string[];
  readonly options: Options;
}

/** Reads what was asked before anything is opened, and gives what is to be done with the prices. */
type Action = (call: Call) => (prices: PriceAdmin) => Promise<unknown>;

const ACTIONS: Readonly<Record<string, Action>> = { list, set, sync };

/** `price list`, `price set` and `price sync`. */
export async function priceCommand([, action = '', ...words]: readonly string[], options: Options): Promise<number> {
  const read = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (read === undefined) throw new UsageError(`price needs one of: ${Object.keys(ACTIONS).join(', ')}.`);
  const run = read({ words, options });
  const postgres = openDatabase();
  try {
    printJson(await run(createPriceAdmin(postgres)));
    return 0;
  } finally {
    await postgres.close();
  }
}

function list({ words }: Call): ReturnType<Action> {
  if (words.length > 0) throw new UsageError('price list takes no names.');
  return async (prices) => ({ prices: await prices.list() });
}

function set({ words: [modelId, ...more], options }: Call): ReturnType<Action> {
  if (modelId === undefined || more.length > 0) throw new UsageError('price set needs one MODEL.');
  if (!/^\S{1,100}$/.test(modelId)) throw new UsageError('MODEL is an id of at most 100 characters, without spaces.');
  const price: ModelPrice = {
    modelId,
    inputPer1M: required(options, 'input'),
    outputPer1M: required(options, 'output'),
    cachedInputPer1M: readUsd(options, 'cached-input'),
    cacheWritePer1M: readUsd(options, 'cache-write'),
    cacheWrite1hPer1M: readUsd(options, 'cache-write-1h'),
    reasoningPer1M: readUsd(options, 'reasoning'),
  };
  return (prices) => prices.set(price, options.provider);
}

type PriceOption = 'input' | 'output' | 'cached-input' | 'cache-write' | 'cache-write-1h' | 'reasoning';

function required(options: Options, name: PriceOption): string {
  const usd = readUsd(options, name);
  if (usd === undefined) throw new UsageError(`price set needs --${name} USD, for a million tokens.`);
  return usd;
}

function readUsd(options: Options, name: PriceOption): string | undefined {
  const text = options[name];
  if (text === undefined || /^\d{1,6}(\.\d{1,18})?$/.test(text)) return text;
  throw new UsageError(`--${name} is a decimal number of US dollars for a million tokens, such as 0.15.`);
}

function sync({ words, options }: Call): ReturnType<Action> {
  const overwrite = readOverwrite(words, options);
  const tiers = readTiers(options.tier);
  return async (prices) => {
    const { source, provider, models } = await readListedModels(options.from);
    const report = await prices.sync({
      models,
      provider: options.provider ?? provider,
      overwrite,
      tiers,
      dryRun: options['dry-run'] === true,
    });
    return { source, models: models.length, ...report };
  };
}

function readOverwrite(words: readonly string[], { overwrite = false }: Options): 'all' | readonly string[] {
  if (!overwrite && words.length > 0) throw new UsageError('price sync changes a price only after --overwrite.');
  if (overwrite && words.length === 0)
    throw new UsageError('--overwrite needs the models whose prices may be changed, or all.');
  return words.includes('all') ? 'all' : words;
}

/** `pro=openai/gpt-4o,expert=anthropic/claude-3.5-sonnet` */
function readTiers(text: string | undefined): ReadonlyMap<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair !== '');
  return new Map(
    pairs.map((pair) => {
      const [, tier, model] = /^([^=]+)=(.+)$/.exec(pair.trim()) ?? [];
      if (tier === undefined || model === undefined)
        throw new UsageError('--tier is TIER=MODEL, several with commas between.');
      return [tier, model] as const;
    }),
  );
}

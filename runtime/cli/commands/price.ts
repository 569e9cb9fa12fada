import { readFile } from 'node:fs/promises';

import type { NewPrice, PriceSync } from '../../admin/contract/price';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { UsageError } from '../arguments';
import { command, FLAG, TEXT } from '../command';
import { openInstallation, withAdmin } from '../environment';
import { printJson } from '../output';

const PRICES = {
  input: TEXT,
  output: TEXT,
  'cached-input': TEXT,
  'cache-write': TEXT,
  'cache-write-1h': TEXT,
  reasoning: TEXT,
} as const;

export const priceCommands = [
  command({
    words: 'price list',
    help: 'The price of each model, in US dollars for a million tokens.',
    run: () => withAdmin(({ price }) => price.list()),
  }),
  command({
    words: 'price set',
    names: ['MODEL'],
    usage:
      '--input USD --output USD [--cached-input USD] [--cache-write USD] [--cache-write-1h USD] [--reasoning USD] [--provider NAME]',
    help: 'Give a model its price, also in place of another.',
    options: { ...PRICES, provider: TEXT },
    run: (options, [modelId = '']) => {
      if (!/^\S{1,100}$/.test(modelId))
        throw new UsageError('MODEL is an id of at most 100 characters, without spaces.');
      const given = { ...readPrice(modelId, options), provider: options.provider };
      return withAdmin(({ price }) => price.set(given));
    },
  }),
  command({
    words: 'price sync',
    names: ['...'],
    usage: '[--from FILE|URL] [--overwrite MODEL...|all] [--tier TIER=MODEL,...] [--provider NAME] [--dry-run]',
    help: `Add the prices of the provider's list that are missing; tell which of ours differ, and which tiers name a model
that the list lacks. What is there is changed only where it is named.`,
    options: { from: TEXT, tier: TEXT, provider: TEXT, overwrite: FLAG, 'dry-run': FLAG },
    run: sync,
  }),
];

type PriceOption = keyof typeof PRICES;
type PriceOptions = Readonly<Partial<Record<PriceOption, string>>>;

function readPrice(modelId: string, options: PriceOptions): NewPrice {
  return {
    modelId,
    inputPer1M: required(options, 'input'),
    outputPer1M: required(options, 'output'),
    cachedInputPer1M: readUsd(options, 'cached-input'),
    cacheWritePer1M: readUsd(options, 'cache-write'),
    cacheWrite1hPer1M: readUsd(options, 'cache-write-1h'),
    reasoningPer1M: readUsd(options, 'reasoning'),
  };
}

function required(options: PriceOptions, name: PriceOption): string {
  const usd = readUsd(options, name);
  if (usd === undefined) throw new UsageError(`price set needs --${name} USD, for a million tokens.`);
  return usd;
}

function readUsd(options: PriceOptions, name: PriceOption): string | undefined {
  const text = options[name];
  if (text === undefined || /^\d{1,6}(\.\d{1,18})?$/.test(text)) return text;
  throw new UsageError(`--${name} is a decimal number of US dollars for a million tokens, such as 0.15.`);
}

interface SyncOptions {
  readonly from?: string;
  readonly tier?: string;
  readonly provider?: string;
  readonly overwrite?: boolean;
  readonly 'dry-run'?: boolean;
}

function sync(options: SyncOptions, words: readonly string[]): Promise<number> {
  const overwrite = readOverwrite(words, options);
  const tiers = Object.fromEntries(readTiers(options.tier));
  const { provider, 'dry-run': dryRun } = options;
  return syncFrom(options.from, { overwrite, tiers, provider, dryRun });
}

async function syncFrom(from: string | undefined, given: PriceSync): Promise<number> {
  const request = { ...given, ...(await readSource(from)) };
  const runtime = openInstallation();
  try {
    const report = await runtime.admin.price.sync(request);
    printJson({ source: from, ...report });
    return 0;
  } finally {
    await runtime.close();
  }
}

/** An address, or what a file holds. */
async function readSource(from: string | undefined): Promise<Pick<PriceSync, 'from' | 'list'>> {
  if (from === undefined || /^https?:/i.test(from)) return { from };
  try {
    return { list: await readFile(from, 'utf8') };
  } catch (error) {
    throw new RuntimeError('PRICE_LIST_UNREACHABLE', { source: from, reason: errorText(error) });
  }
}

function readOverwrite(words: readonly string[], { overwrite = false }: SyncOptions): 'all' | readonly string[] {
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

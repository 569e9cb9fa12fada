import { readJsonOption, readWhole, UsageError } from '../../arguments';
import { command, FLAG, TEXT } from '../../command';
import { withAdmin } from '../../environment';

export const tierCommands = [
  command({
    words: 'tier list',
    help: 'The tiers with their models and what these cost for a million tokens.',
    run: () => withAdmin(({ tier }) => tier.list()),
  }),
  command({
    words: 'tier set',
    names: ['CODE'],
    usage:
      '[--model ID] [--name NAME] [--max-tokens N] [--temperature T] [--model-silence-seconds S] [--rank N] [--free|--billed] [--tool-config JSON|-]',
    help: 'Make a tier, or change one; what is not named stays.',
    options: {
      model: TEXT,
      name: TEXT,
      'max-tokens': TEXT,
      temperature: TEXT,
      'model-silence-seconds': TEXT,
      rank: TEXT,
      free: FLAG,
      billed: FLAG,
      'tool-config': TEXT,
    },
    run: async ({ free, billed, ...options }, [code = '']) => {
      if (free === true && billed === true) throw new UsageError('Give --free or --billed, not both.');
      const toolConfig = await readJsonOption(options['tool-config'], 'tool-config');
      const change = {
        code,
        name: options.name,
        modelId: options.model,
        maxTokens: readWhole(options['max-tokens'], 'max-tokens'),
        temperature: readNumber(options.temperature),
        modelSilenceSeconds: readNumber(options['model-silence-seconds']),
        rank: readWhole(options.rank, 'rank'),
        isFree: free ?? (billed === true ? false : undefined),
        toolConfig,
      };
      return withAdmin(({ tier }) => tier.set(change));
    },
  }),
];

/** Returns NaN for text that is not a number; the operation rejects it. */
function readNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

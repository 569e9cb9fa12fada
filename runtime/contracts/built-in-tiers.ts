import type { Tier } from './tenant';

/** The tiers of a database that has no elo_agent_tiers; a row with the same code replaces one of them. */
export const BUILT_IN_TIERS: readonly Tier[] = [
  {
    rank: 1,
    code: 'nano',
    name: 'Nano',
    modelId: 'qwen/qwen3-4b:free',
    isFree: true,
    maxTokens: 500,
    temperature: 0.1,
  },
  { rank: 2, code: 'small', name: 'Small', modelId: 'qwen/qwen3-8b', maxTokens: 800, temperature: 0.2 },
  { rank: 3, code: 'optima', name: 'Optima', modelId: 'anthropic/claude-3-haiku', maxTokens: 1000, temperature: 0.3 },
  { rank: 4, code: 'pro', name: 'Pro', modelId: 'openai/gpt-4o-mini', maxTokens: 2000, temperature: 0.5 },
  {
    rank: 5,
    code: 'expert',
    name: 'Expert',
    modelId: 'anthropic/claude-3-5-sonnet',
    maxTokens: 4000,
    temperature: 0.7,
  },
];

import type { Usage } from '../contracts/ledger/usage';
import type { AgentResult } from '../contracts/result';

/** Tokens in the words of the wire. */
export function reportTokens(usage: Usage): AgentResult['tokens'] {
  return {
    prompt: usage.promptTokens,
    completion: usage.completionTokens,
    total: usage.promptTokens + usage.completionTokens,
    cached: usage.cachedTokens,
    cache_written: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    reasoning: usage.reasoningTokens,
  };
}

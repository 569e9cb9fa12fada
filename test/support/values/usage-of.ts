import type { Usage } from '../../../runtime/contracts/ledger/usage';

/** Usage without a cache and without reasoning. */
export const usageOf = (promptTokens: number, completionTokens: number): Usage => ({
  ...{ promptTokens, completionTokens, reasoningTokens: 0 },
  ...{ cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
});

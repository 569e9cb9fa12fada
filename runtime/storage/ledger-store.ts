import type { Claim, LedgerStore } from '../contracts/ledger';
import type { AgentResult } from '../contracts/result';
import { every } from '../util/clock';
import type { Query } from './postgres';
import { claimRunStatement, type ClaimRow } from './sql/claim-run';
import { pruneRunsStatement } from './sql/prune-runs';
import { recordProgressStatement } from './sql/record-progress';

const PRUNE_EVERY_MS = 3_600_000;

/** The ledger in Postgres. Results are kept for 30 days; the billing lines for ever. */
export function createLedgerStore(query: Query): LedgerStore & { readonly close: () => Promise<void> } {
  const stopPruning = every(PRUNE_EVERY_MS, () => void query(pruneRunsStatement()).catch(() => undefined));
  return {
    claim: async (request) => {
      for (;;) {
        const [row] = await query<ClaimRow>(claimRunStatement(request));
        if (row !== undefined) return toClaim(row);
      }
    },
    record: async (progress) => {
      const [row] = await query<{ held: boolean }>(recordProgressStatement(progress));
      return { held: row?.held ?? false };
    },
    close: () => {
      stopPruning();
      return Promise.resolve();
    },
  };
}

function toClaim({ kind, attempt, result }: ClaimRow): Claim {
  if (kind === 'claimed') return { kind, attempt };
  if (kind === 'done') return { kind, result: JSON.parse(result ?? '{}') as AgentResult };
  return { kind };
}

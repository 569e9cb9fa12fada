import type { RunProgress } from '../contracts/ledger';
import type { WaitingRun } from '../contracts/outcome';
import { RuntimeError } from '../errors/runtime-error';

/** Encrypts texts for one owner. `open` throws VAULT_KEY_WRONG. */
export interface TextSealer {
  readonly seal: (text: string, owner: string) => string;
  readonly open: (sealed: string, owner: string) => string;
}

interface WaitingRunKey {
  readonly tenantId: string;
  readonly runId: string;
}

/** What a run that waits for an approval goes on with, as the database keeps it. */
export interface WaitingRuns {
  /** JSON text; null for a run that does not wait. */
  readonly keep: (progress: RunProgress) => string | null;
  /** Throws VAULT_KEY_MISSING or VAULT_KEY_WRONG for one that was sealed with a key that is not here. */
  readonly read: (text: string, key: WaitingRunKey) => WaitingRun;
}

const ownerOf = ({ tenantId, runId }: WaitingRunKey): string => `waiting/${tenantId}/${runId}`;

/**
 * A transcript must be kept as it is, since the call in it is made as it was shown; so it cannot be redacted as results are.
 * With a vault key it is encrypted.
 */
export function waitingRuns(sealer: TextSealer | undefined): WaitingRuns {
  return {
    keep: (progress) => {
      const waiting = progress.end?.waiting;
      if (waiting === undefined) return null;
      const text = JSON.stringify(waiting);
      return sealer === undefined ? text : JSON.stringify(sealer.seal(text, ownerOf(progress)));
    },
    read: (text, key) => {
      const kept = JSON.parse(text) as WaitingRun | string;
      if (typeof kept !== 'string') return kept;
      if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
      return JSON.parse(sealer.open(kept, ownerOf(key))) as WaitingRun;
    },
  };
}

import type { RunProgress } from '../../../contracts/ledger/ledger';
import type { SavedRun } from '../../../contracts/ledger/progress';
import type { SealedJson } from './sealed-json';

interface WaitingRunKey {
  readonly tenantId: string;
  readonly runId: string;
}

/** What a run that waits for an approval goes on with, as the database keeps it. */
export interface WaitingRuns {
  /** JSON text; undefined for a run that does not wait. */
  readonly keep: (progress: RunProgress) => string | undefined;
  /** Throws what `SealedJson.read` throws. */
  readonly read: (text: string, key: WaitingRunKey) => SavedRun;
}

const ownerOf = ({ tenantId, runId }: WaitingRunKey): string => `waiting/${tenantId}/${runId}`;

export function waitingRuns(json: SealedJson): WaitingRuns {
  return {
    keep: (progress) => {
      const saved = progress.end?.saved;
      return saved === undefined ? undefined : json.write(saved, ownerOf(progress));
    },
    read: (text, key) => json.read(text, ownerOf(key)) as unknown as SavedRun,
  };
}

import type { RunProgress } from '../../contracts/ledger';
import type { WaitingRun } from '../../contracts/outcome';
import type { SealedJson } from './sealed-json';

interface WaitingRunKey {
  readonly tenantId: string;
  readonly runId: string;
}

/** What a run that waits for an approval goes on with, as the database keeps it. */
export interface WaitingRuns {
  /** JSON text; null for a run that does not wait. */
  readonly keep: (progress: RunProgress) => string | null;
  /** Throws a VAULT_ code. */
  readonly read: (text: string, key: WaitingRunKey) => WaitingRun;
}

const ownerOf = ({ tenantId, runId }: WaitingRunKey): string => `waiting/${tenantId}/${runId}`;

export function waitingRuns(json: SealedJson): WaitingRuns {
  return {
    keep: (progress) => {
      const waiting = progress.end?.waiting;
      return waiting === undefined ? null : json.write(waiting, ownerOf(progress));
    },
    read: (text, key) => json.read(text, ownerOf(key)) as WaitingRun,
  };
}

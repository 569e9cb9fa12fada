import type { RunKey, RunProgress } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';
import { named } from '../named';
import { billOf, list } from './record-progress';
import text from './record-unbilled.sql';

const RECORD = named<RunKey & Readonly<Record<string, unknown>>>(text);

export function recordUnbilledStatement(progress: RunProgress, saved: string | undefined): Statement {
  const { tenantId, taskId, runId, closed, end } = progress;
  return RECORD({
    ...{ tenantId, taskId, runId, saved },
    calls: billOf(progress) === undefined ? undefined : list(closed),
    state: end?.state,
    result: end && JSON.stringify(end.result),
    lastStep: end?.lastStep,
  });
}

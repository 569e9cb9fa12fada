import type { RunKey, RunProgress } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';
import { named } from '../named';
import { billOf, callsOf, list } from './record-progress';
import text from './record-unbilled.sql';

const RECORD = named<RunKey & Readonly<Record<string, unknown>>>(text);

/** Has a turn of its own: the tenant's other statements may be stuck on its bill. */
export function recordUnbilledStatement(progress: RunProgress, saved: string | undefined): Statement {
  const { tenantId, taskId, runId, end } = progress;
  const statement = RECORD({
    ...{ tenantId, taskId, runId, saved },
    calls: list(callsOf(progress)),
    isBilled: billOf(progress) !== undefined,
    state: end?.state,
    result: end && JSON.stringify(end.result),
    lastStep: end?.lastStep,
    unsent: end?.unsent,
  });
  return { ...statement, tenantId: `unbilled ${tenantId}` };
}

import type { RunKey, RunProgress } from '../../../contracts/ledger/ledger';
import type { Statement } from '../../statement';
import { named, withoutParts } from '../named';
import { billOf, callsOf, list, turnText } from './record-progress';
import text from './record-unbilled.sql';

const RECORD_TURN = named<RunKey & Readonly<Record<string, unknown>>>(text);
const RECORD = named<RunKey & Readonly<Record<string, unknown>>>(withoutParts(text));

/** Has a turn of its own: the tenant's other statements may be stuck on its bill. */
export function recordUnbilledStatement(progress: RunProgress, saved: string | undefined): Statement {
  const { tenantId, taskId, runId, end } = progress;
  const statement = (end?.turn === undefined ? RECORD : RECORD_TURN)({
    ...{ tenantId, taskId, runId, saved },
    calls: list(callsOf(progress)),
    isBilled: billOf(progress) !== undefined,
    state: end?.state,
    result: end && JSON.stringify(end.result),
    lastStep: end?.lastStep,
    unsent: end?.unsent,
    turn: turnText(end?.turn),
  });
  return { ...statement, tenantId: `unbilled ${tenantId}` };
}

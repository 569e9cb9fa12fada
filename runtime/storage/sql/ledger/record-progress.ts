import type { OpenCall, RunKey, RunProgress } from '../../../contracts/ledger/ledger';
import type { NewTurn } from '../../../contracts/ledger/session';
import type { ModelCallRecord } from '../../../contracts/ledger/usage';
import type { JournalLine } from '../../postgres/ledger/journal-entries';
import type { Statement } from '../../statement';
import { named, withoutParts } from '../named';
import { indexableId, storable } from '../storable';
import { familyValues } from './claim-run';
import text from './record-progress.sql';

export interface ProgressRow {
  readonly is_ours: boolean;
  readonly room: 'ok' | 'held' | 'exceeded' | null;
  readonly refused: readonly { readonly toolCallId: string; readonly reason: string }[] | null;
  readonly policy_version: string | null;
}

/** What the run that comes after this one goes on with. */
interface KeptForLater {
  /** JSON text, for a run that waits for an approval. */
  readonly saved?: string;
  readonly journal: readonly JournalLine[];
}

const RECORD_TURN = named<RunKey & Readonly<Record<string, unknown>>>(text);
const RECORD = named<RunKey & Readonly<Record<string, unknown>>>(withoutParts(text));

export function recordProgressStatement(progress: RunProgress, { saved, journal }: KeptForLater): Statement {
  const { tenantId, taskId, runId, leaseMs, taking = [], audit = [], end } = progress;
  const { clientId, dialogId, userId, sessionId } = progress;
  const bill = billOf(progress);
  return (end?.turn === undefined ? RECORD : RECORD_TURN)({
    ...{ tenantId, taskId, runId, leaseMs, saved },
    ...lineage(progress),
    calls: list(callsOf(progress)),
    ...storable({ ...bill, clientId, dialogId, userId, sessionId }),
    isBilled: bill !== undefined,
    ...holds(progress),
    state: end?.state,
    result: end && JSON.stringify(end.result),
    lastStep: end?.lastStep,
    unsent: end?.unsent,
    turn: turnText(end?.turn),
    taking: list(taking),
    audit: list(audit.map((line) => ({ ...line, id: indexableId(line.id) }))),
    journal: list(journal),
  });
}

/** The run and those above it, and the line: the root alone has one. */
function lineage({ taskId, runId, family }: RunProgress): Readonly<Record<string, unknown>> {
  const { runIds } = familyValues(runId, family);
  const billed = { billedTaskId: family?.rootTaskId ?? taskId, billedRunId: runIds[0] };
  return { runIds, ...billed, isBelow: family !== undefined };
}

function holds({ reserve, hold }: RunProgress): Readonly<Record<string, unknown>> {
  return {
    ...reserve,
    isReserving: reserve !== undefined,
    isHolding: hold !== undefined,
    heldCostUsd: hold?.costUsd,
    heldTokens: hold?.tokens,
  };
}

/** Calls that have ended, then the one that is open. */
export function callsOf({ closed, opening }: RunProgress): readonly (ModelCallRecord | OpenCall)[] {
  return opening === undefined ? closed : [...closed, opening];
}

/** Writes a list as JSON; what is empty costs the server nothing. */
export function list(values: readonly object[]): string | undefined {
  return values.length === 0 ? undefined : JSON.stringify(storable(values));
}

/** Writes the turn of a run as JSON. */
export function turnText(turn: NewTurn | undefined): string | undefined {
  return turn && JSON.stringify(storable(turn));
}

/** The line that a write goes on; undefined where it writes none. */
export function billOf({ bill, closed }: RunProgress): RunProgress['bill'] {
  const costs = closed.some(({ costUsd, providerCostUsd = 0 }) => Number(costUsd) > 0 || Number(providerCostUsd) > 0);
  const isNothing = bill?.modelRequested === undefined && closed.length === 0;
  return isNothing || (bill?.onlyWhatCosts === true && !costs) ? undefined : bill;
}

import { createHash } from 'node:crypto';

import type { LedgerStore, RunProgress } from '../../contracts/ledger/ledger';
import type { KeptEnd, RefusedEnd } from '../../contracts/ledger/outbox';
import type { ErrorCode } from '../../errors/codes';
import type { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { isInVain, sqlStateOf } from '../postgres/database-errors';
import { type SealedJson, sealedJson } from '../postgres/ledger/sealed-json';

/** The owner that the sealer is told: entries belong to no tenant. */
export const OUTBOX_OWNER = 'outbox';

interface EntryParts {
  readonly ledger: Pick<LedgerStore, 'record' | 'recordUnbilled' | 'knows'>;
  readonly json: SealedJson;
}

/**
 * What became of an entry. `left` is for a process that has its key; `later`: the database does not take this one for
 * now.
 */
export type Written =
  { readonly kind: 'written' | 'left' | 'later' } | { readonly kind: 'refused'; readonly end: RefusedEnd };

/** Writes an entry to the ledger. Rejects when the database is away, or refuses everything. */
export async function writeEntry({ ledger, json }: EntryParts, entry: string): Promise<Written> {
  let progress: RunProgress;
  try {
    progress = json.read(entry, OUTBOX_OWNER) as unknown as RunProgress;
  } catch (error) {
    const { code } = toRuntimeError(error);
    return code === 'VAULT_KEY_MISSING' ? { kind: 'left' } : { kind: 'refused', end: refusedEnd(entry, { code }) };
  }
  const refuse = (code: ErrorCode, error?: RuntimeError): Written => ({
    kind: 'refused',
    end: refusedEnd(entry, { code, sqlState: sqlStateOf(error?.cause), progress }),
  });
  try {
    if (!(await ledger.knows(progress))) return refuse('RUN_UNKNOWN');
    await ledger.record(progress);
    return { kind: 'written' };
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    // The tenant was deleted with its bill, or this database is an older copy.
    if (error.code === 'TENANT_NOT_FOUND') return refuse(error.code, error);
    // No budget is open meanwhile, and nobody takes a run for lost whose end is known.
    if (error.code !== 'DB_UNREACHABLE') await ledger.recordUnbilled(progress).catch(() => undefined);
    // It may be this entry alone whose rows somebody holds, or whose statement never ends in time.
    if (error.code === 'DB_UNAVAILABLE' || isInVain(error.cause)) return { kind: 'later' };
    if (error.scope === 'installation') throw error;
    return refuse(error.code, error);
  }
}

interface Refusal {
  readonly code: ErrorCode;
  readonly sqlState?: string;
  readonly progress?: RunProgress;
}

function refusedEnd(entry: string, { code, sqlState, progress }: Refusal): RefusedEnd {
  return {
    id: idOf(entry),
    since: new Date().toISOString(),
    code,
    sql_state: sqlState,
    ...(progress === undefined ? {} : factsOf(progress)),
  };
}

/** What of an entry can be told without a key. */
export function describeEntry(entry: string): KeptEnd {
  try {
    const progress = sealedJson(undefined).read(entry, OUTBOX_OWNER) as unknown as RunProgress;
    return { id: idOf(entry), ...factsOf(progress) };
  } catch {
    return { id: idOf(entry) };
  }
}

/** What an entry is called in front of a person. */
export function idOf(entry: string): string {
  return createHash('sha256').update(entry).digest('hex').slice(0, 16);
}

/** Enough to book the usage by hand; not what the run was about. */
function factsOf({ tenantId, taskId, runId, closed }: RunProgress): Partial<KeptEnd> {
  return { tenant_id: tenantId, task_id: taskId, run_id: runId, calls: callsOf(closed) };
}

function callsOf(closed: RunProgress['closed']): KeptEnd['calls'] {
  try {
    return closed.map(({ modelBilled, usage, costUsd }) => ({
      model: modelBilled,
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      cost_usd: costUsd,
    }));
  } catch {
    // What stands in Redis may be anything.
    return undefined;
  }
}

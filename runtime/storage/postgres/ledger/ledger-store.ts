import type { LedgerStore, Recorded } from '../../../contracts/ledger/ledger';
import { RuntimeError } from '../../../errors/runtime-error';
import { every } from '../../../util/clock';
import { type ClaimRow, claimRunStatement } from '../../sql/ledger/claim-run';
import { IDENTIFY, knowsRunStatement } from '../../sql/ledger/find-run';
import { pruneStatements } from '../../sql/ledger/prune-runs';
import { type ProgressRow, recordProgressStatement } from '../../sql/ledger/record-progress';
import { recordUnbilledStatement } from '../../sql/ledger/record-unbilled';
import { findSavedStatement, type ResumeRow, resumeRunStatement } from '../../sql/ledger/resume-run';
import { takeOfTaskStatement } from '../../sql/ledger/take-of-task';
import type { Query } from '../../statement';
import { sqlStateOf } from '../database-errors';
import { journalEntries } from './journal-entries';
import { claimReader } from './read-claims';
import { sealedJson, type TextSealer } from './sealed-json';
import { createSessionStore, forgetSessions } from './session-store';
import { waitingRuns } from './waiting-runs';

const PRUNE_EVERY_MS = 3_600_000;
/** SQLSTATE, as in database-errors.ts. */
const FOREIGN_KEY_VIOLATION = '23503';

interface LedgerOptions {
  readonly auditRetentionDays: number;
  /** How long a tenant with these settings keeps messages of conversations, in days; undefined: for ever. Throws for settings that no run takes. */
  readonly sessionDays?: (settings: string | null) => number;
  readonly sealer?: TextSealer;
}

/** The ledger in Postgres. Results are kept for 30 days, the audit as long as asked; the billing lines for ever. */
export function createLedgerStore(
  query: Query,
  options: LedgerOptions,
): LedgerStore & { readonly close: () => Promise<void> } {
  const json = sealedJson(options.sealer);
  const waiting = waitingRuns(json);
  const journal = journalEntries(json);
  const read = claimReader(query, { waiting, journal });
  const questions = outboxQuestions(query);
  const stopPruning = every(PRUNE_EVERY_MS, () => void prune(query, options));
  return {
    claim: async (request) => {
      for (;;) {
        const [row] = await query<ClaimRow>(claimRunStatement(request));
        if (row !== undefined) return read.claim(row, request);
      }
    },
    findSaved: async (run) => {
      const { tenantId, runId } = run;
      const [row] = await query<{ resume: string }>(findSavedStatement(run));
      return row === undefined ? undefined : waiting.read(row.resume, { tenantId, runId });
    },
    resume: async (request) => {
      const [row] = await query<ResumeRow>(resumeRunStatement(request));
      return row === undefined ? { kind: 'unknown' } : read.resumed(row, request);
    },
    record: async (progress) => {
      const kept = { saved: waiting.keep(progress), journal: journal.keep(progress) };
      const statement = recordProgressStatement(progress, kept);
      const [row] = await query<ProgressRow>(statement).catch(async (error: unknown) => {
        // The rows that these would belong to may be gone with their tenant.
        if (sqlStateOf((error as Error).cause) === FOREIGN_KEY_VIOLATION) await questions.knows(progress);
        throw error;
      });
      return toRecorded(row);
    },
    recordUnbilled: async (progress) => {
      await query(recordUnbilledStatement(progress, waiting.keep(progress)));
    },
    takeOfTask: async (call) => (await query(takeOfTaskStatement(call))).length > 0,
    ...questions,
    sessions: createSessionStore(query),
    close: () => {
      stopPruning();
      return Promise.resolve();
    },
  };
}

/** Never rejects: what one of them did not delete is deleted the next time. */
async function prune(query: Query, { auditRetentionDays, sessionDays }: LedgerOptions): Promise<void> {
  for (const statement of pruneStatements(auditRetentionDays)) await query(statement).catch(() => undefined);
  if (sessionDays !== undefined) await forgetSessions(query, sessionDays).catch(() => undefined);
}

/** What the outbox asks, to give every entry to the ledger that it belongs to. */
function outboxQuestions(query: Query): Pick<LedgerStore, 'knows' | 'identify'> {
  return {
    knows: async (run) => {
      const [row] = await query<{ is_known: boolean; has_tenant: boolean }>(knowsRunStatement(run));
      if (row?.has_tenant === false) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: run.tenantId });
      return row?.is_known === true;
    },
    identify: async () => {
      const [row] = await query<{ id: string }>(IDENTIFY);
      if (row === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'no migration was applied' });
      return row.id;
    },
  };
}

function toRecorded(row: ProgressRow | undefined): Recorded {
  if (row === undefined) return { isOurs: false };
  const { is_ours: isOurs, room, refused, policy_version: policyVersion } = row;
  const budget = room === 'held' ? 'wait' : (room ?? undefined);
  return { isOurs, budget, refused: refused ?? [], policyVersion: policyVersion ?? undefined };
}

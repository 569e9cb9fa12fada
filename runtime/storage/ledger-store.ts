import type { Claim, LedgerStore, Recorded, Resumed } from '../contracts/ledger';
import type { AgentResult } from '../contracts/result';
import type { WaitingRun } from '../contracts/outcome';
import { every } from '../util/clock';
import type { Query } from './postgres';
import { journalEntries, type JournalEntries, type JournalRow } from './journal-entries';
import { sealedJson, type TextSealer } from './sealed-json';
import { waitingRuns } from './waiting-runs';
import { auditCallStatement, takeCallStatement } from './sql/call-tool';
import { claimRunStatement, releaseRunStatement, type ClaimRow } from './sql/claim-run';
import { pruneStatements } from './sql/prune-runs';
import { recordProgressStatement, type ProgressRow } from './sql/record-progress';
import { findWaitingStatement, resumeRunStatement, type ResumeRow } from './sql/resume-run';

const PRUNE_EVERY_MS = 3_600_000;

/** The ledger in Postgres. Results are kept for 30 days, the audit as long as asked; the billing lines for ever. */
export function createLedgerStore(
  query: Query,
  options: { readonly auditRetentionDays: number; readonly sealer?: TextSealer },
): LedgerStore & { readonly close: () => Promise<void> } {
  const json = sealedJson(options.sealer);
  const waiting = waitingRuns(json);
  const journal = journalEntries(json);
  const stopPruning = every(PRUNE_EVERY_MS, () => {
    for (const statement of pruneStatements(options.auditRetentionDays)) void query(statement).catch(() => undefined);
  });
  return {
    claim: async (request) => {
      for (;;) {
        const [row] = await query<ClaimRow>(claimRunStatement(request));
        if (row === undefined) continue;
        try {
          return toClaim(row, (rows) => journal.read(rows, request));
        } catch (error) {
          await query(releaseRunStatement(request)).catch(() => undefined);
          throw error;
        }
      }
    },
    findWaiting: async ({ tenantId, runId }) => {
      const [row] = await query<{ resume: string }>(findWaitingStatement(tenantId, runId));
      return row === undefined ? undefined : waiting.read(row.resume, { tenantId, runId });
    },
    resume: async (request) => {
      const [row] = await query<ResumeRow>(resumeRunStatement(request));
      const { tenantId, waitedRunId: runId } = request;
      return toResumed(row, (text) => waiting.read(text, { tenantId, runId }));
    },
    record: async (progress) => {
      const kept = { waiting: waiting.keep(progress), journal: journal.keep(progress) };
      const [row] = await query<ProgressRow>(recordProgressStatement(progress, kept));
      return toRecorded(row);
    },
    takeCall: async (call) => {
      const [row] = await query<{ reason: string | null }>(takeCallStatement(call));
      return row?.reason ?? undefined;
    },
    auditCall: async (call, execution) => {
      await query(auditCallStatement(call, execution));
    },
    close: () => {
      stopPruning();
      return Promise.resolve();
    },
  };
}

function toClaim(
  { kind, attempt, result, journal }: ClaimRow,
  read: (rows: readonly JournalRow[]) => ReturnType<JournalEntries['read']>,
): Claim {
  if (kind === 'claimed') return { kind, attempt, journal: read(JSON.parse(journal ?? '[]') as readonly JournalRow[]) };
  if (kind === 'done') return { kind, result: readResult(result) };
  return { kind };
}

function toResumed(row: ResumeRow | undefined, read: (text: string) => WaitingRun): Resumed {
  if (row === undefined) return { kind: 'unknown' };
  const { kind, task_id: taskId, trace_id: traceId, resume, result } = row;
  if (kind === 'done') return { kind, result: readResult(result) };
  if (kind !== 'claimed') return { kind };
  return { kind, taskId, traceId: traceId ?? undefined, waiting: read(resume ?? '{}') };
}

function readResult(text: string | null): AgentResult {
  return JSON.parse(text ?? '{}') as AgentResult;
}

function toRecorded(row: ProgressRow | undefined): Recorded {
  if (row === undefined) return { held: false };
  const { held, room, refused, policy_version: policyVersion } = row;
  return { held, room: room ?? undefined, refused: refused ?? [], policyVersion: policyVersion ?? undefined };
}

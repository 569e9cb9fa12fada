import type { ApprovalDecision, Spent } from '../../../contracts/ledger/journal';
import type {
  Claim,
  ClaimRequest,
  Contradicted,
  OnRecord,
  Resumed,
  ResumeRequest,
  RunKey,
} from '../../../contracts/ledger/ledger';
import type { AgentResult } from '../../../contracts/result';
import { parseExactly } from '../../../util/exact-integer';
import { type ClaimRow, releaseRunStatement } from '../../sql/ledger/claim-run';
import type { ResumeRow } from '../../sql/ledger/resume-run';
import type { Query } from '../../statement';
import type { JournalEntries, JournalRow } from './journal-entries';
import type { WaitingRuns } from './waiting-runs';

/** Rejects with a VAULT_ code, when what is kept cannot be opened: the run was claimed, and is given back. */
interface ClaimReader {
  readonly claim: (row: ClaimRow, request: ClaimRequest) => Promise<Claim>;
  readonly resumed: (row: ResumeRow, request: ResumeRequest) => Promise<Resumed>;
}

export function claimReader(
  query: Query,
  { waiting, journal }: { readonly waiting: WaitingRuns; readonly journal: JournalEntries },
): ClaimReader {
  const onRecord = ({ journal: rows, spent }: Pick<ClaimRow, 'journal' | 'spent'>, key: RunKey): OnRecord => ({
    journal: journal.read(parseExactly(rows ?? '[]') as readonly JournalRow[], key),
    spent: spent === null ? undefined : (parseExactly(spent) as Spent),
  });
  const orRelease = async <T>(key: RunKey, read: () => T): Promise<T> => {
    try {
      return read();
    } catch (error) {
      await query(releaseRunStatement(key)).catch(() => undefined);
      throw error;
    }
  };
  return {
    claim: (row, request) =>
      orRelease(request, () => {
        const { kind, attempt, result, wait: seconds } = row;
        if (kind === 'limited') return { kind, seconds };
        if (kind === 'claimed') return { kind, attempt, ...onRecord(row, request) };
        if (kind === 'done') return { kind, result: readResult(result) };
        return { kind: kind === 'held' ? 'wait' : kind };
      }),
    resumed: (row, { tenantId, waitedRunId, runId }) => {
      const key = { tenantId, taskId: row.task_id, runId };
      return orRelease(key, () => {
        const { kind, task_id: taskId, trace_id: traceId, resume, result } = row;
        if (kind === 'done') return { kind, result: readResult(result) };
        if (kind === 'contradicted') return toContradicted(row);
        if (kind !== 'claimed') return { kind: kind === 'held' ? 'wait' : kind };
        const saved = waiting.read(resume ?? '{}', { tenantId, runId: waitedRunId });
        const { decidedBy } = decidedIn(row);
        return { kind, taskId, traceId: traceId ?? undefined, saved, decidedBy, ...onRecord(row, key) };
      });
    },
  };
}

interface Decided {
  readonly decision: ApprovalDecision;
  readonly decidedBy: string | null;
  readonly decidedAt: string;
}

function toContradicted(row: ResumeRow): Contradicted {
  const { decidedAt, ...decided } = decidedIn(row);
  return { kind: 'contradicted', ...decided, decidedAt: new Date(decidedAt) };
}

function decidedIn({ decided }: ResumeRow): Omit<Decided, 'decidedBy'> & { readonly decidedBy?: string } {
  const { decidedBy, ...rest } = JSON.parse(decided ?? '{}') as Decided;
  return { ...rest, decidedBy: decidedBy ?? undefined };
}

function readResult(text: string | null): AgentResult {
  return parseExactly(text ?? '{}') as AgentResult;
}

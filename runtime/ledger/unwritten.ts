import type { JournalEntry, StepEntry } from '../contracts/journal';
import type { RunProgress } from '../contracts/ledger';
import type { ToolCallRecord } from '../contracts/tool-call';
import type { ModelCallRecord } from '../contracts/usage';

export type Kept = Required<Pick<RunProgress, 'closed' | 'audit' | 'journal'>>;

/** What the ledger has not confirmed yet. */
export interface Unwritten {
  readonly keep: (call: ModelCallRecord) => void;
  readonly audit: (line: ToolCallRecord) => void;
  /** In place of what is kept of the same step or tool call. */
  readonly journal: (entry: JournalEntry) => void;
  /** All of it, with a step as it is to be written now. */
  readonly all: (step?: StepEntry) => Kept;
  /** Forgets what was written; what came since stays. */
  readonly confirm: (written: Kept) => void;
}

export function keepUnwritten(): Unwritten {
  let kept: Kept = { closed: [], audit: [], journal: [] };
  return {
    keep: (call) => {
      kept = { ...kept, closed: [...kept.closed, call] };
    },
    audit: (line) => {
      kept = { ...kept, audit: [...kept.audit, line] };
    },
    journal: (entry) => {
      kept = { ...kept, journal: put(kept.journal, entry) };
    },
    all: (step) => (step === undefined ? kept : { ...kept, journal: put(kept.journal, step) }),
    confirm: (written) => {
      kept = {
        closed: without(kept.closed, written.closed),
        audit: without(kept.audit, written.audit),
        journal: kept.journal.filter((entry) => !written.journal.some((one) => isSame(one, entry))),
      };
    },
  };
}

function without<T>(kept: readonly T[], written: readonly T[]): readonly T[] {
  return kept.filter((one) => !written.includes(one));
}

function put(journal: readonly JournalEntry[], entry: JournalEntry): readonly JournalEntry[] {
  return [...journal.filter((one) => !isSame(one, entry)), entry];
}

function isSame(one: JournalEntry, other: JournalEntry): boolean {
  return one.step === other.step && idOf(one) === idOf(other);
}

function idOf(entry: JournalEntry): string | undefined {
  return 'id' in entry ? entry.id : undefined;
}

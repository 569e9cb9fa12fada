import type { JournalEntry, Step } from '../contracts/ledger/journal';
import type { RunProgress } from '../contracts/ledger/ledger';
import type { ModelCallRecord } from '../contracts/ledger/usage';
import type { ToolCallRecord } from '../contracts/tools/tool-call';

export type Kept = Required<Pick<RunProgress, 'closed' | 'audit' | 'journal'>>;

/** What the ledger has not confirmed yet. */
export interface Unwritten {
  readonly keep: (call: ModelCallRecord) => void;
  readonly audit: (line: ToolCallRecord) => void;
  /** Keeps an entry in place of the one of the same step or tool call. */
  readonly journal: (entry: JournalEntry) => void;
  /** All of it, with a step as it is to be written now. */
  readonly all: (step?: Step) => Kept;
  /** A moment, for `confirm`. */
  readonly now: () => number;
  /** Forgets what was written at that moment; what came since stays. */
  readonly confirm: (written: Kept, at: number) => void;
}

export function keepUnwritten(): Unwritten {
  const closed = new Set<ModelCallRecord>();
  const audit = new Set<ToolCallRecord>();
  const journal = new Map<string, { readonly entry: JournalEntry; readonly at: number }>();
  let moment = 0;
  return {
    keep: (call) => void closed.add(call),
    audit: (line) => void audit.add(line),
    journal: (entry) => void journal.set(placeOf(entry), { entry, at: ++moment }),
    all: (step) => ({
      closed: [...closed],
      audit: [...audit],
      journal: withStep(
        [...journal.values()].map(({ entry }) => entry),
        step,
      ),
    }),
    now: () => moment,
    confirm: (written, at) => {
      for (const call of written.closed) closed.delete(call);
      for (const line of written.audit) audit.delete(line);
      // A step that was written with what it is about to send stands for the one that is kept.
      for (const place of written.journal.map(placeOf)) {
        if ((journal.get(place)?.at ?? 0) <= at) journal.delete(place);
      }
    },
  };
}

function withStep(kept: readonly JournalEntry[], step: Step | undefined): readonly JournalEntry[] {
  if (step === undefined) return kept;
  const place = placeOf(step);
  return [...kept.filter((entry) => placeOf(entry) !== place), step];
}

function placeOf(entry: JournalEntry): string {
  return JSON.stringify('id' in entry ? [entry.step, entry.id] : [entry.step]);
}

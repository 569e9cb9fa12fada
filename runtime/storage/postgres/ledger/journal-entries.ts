import type { JournalEntry } from '../../../contracts/ledger/journal';
import type { RunKey, RunProgress } from '../../../contracts/ledger/ledger';
import { indexableId } from '../../sql/storable';
import type { SealedJson } from './sealed-json';

/** A row of elo_agent_journal. */
export interface JournalRow {
  readonly step: number;
  /** Empty for a step, else of a tool call. */
  readonly entry: string;
  readonly sent: readonly number[];
  readonly content: string;
}

/** One to write: the calls in `sending` are sent if there is room in the budget. */
export interface JournalLine extends JournalRow {
  readonly sending: readonly number[];
}

export interface JournalEntries {
  readonly keep: (progress: RunProgress) => readonly JournalLine[];
  /** Throws what `SealedJson.read` throws. */
  readonly read: (rows: readonly JournalRow[], key: RunKey) => readonly JournalEntry[];
}

type Place = Pick<JournalRow, 'step' | 'entry'>;

/** Names the row, so that what is sealed in one cannot stand in another. */
function ownerOf({ tenantId, taskId }: RunKey, { step, entry }: Place): string {
  return `journal/${JSON.stringify([tenantId, taskId, step, entry])}`;
}

export function journalEntries(json: SealedJson): JournalEntries {
  return {
    keep: ({ journal = [], end, ...key }) =>
      // It is forgotten with the end.
      end?.state === 'done' ? [] : journal.map((entry) => toLine(json, key, entry)),
    read: (rows, key) => rows.map((row) => toEntry(json, key, row)),
  };
}

function toLine(json: SealedJson, key: RunKey, given: JournalEntry): JournalLine {
  const { step } = given;
  if ('id' in given) {
    const place = { step, entry: indexableId(given.id) };
    return { ...place, sent: [], sending: [], content: json.write(given, ownerOf(key, place)) };
  }
  const { sent, sending = [], ...content } = given;
  const place = { step, entry: '' };
  return { ...place, sent, sending, content: json.write(content, ownerOf(key, place)) };
}

function toEntry(json: SealedJson, key: RunKey, { content, sent, ...place }: JournalRow): JournalEntry {
  const kept = json.read(content, ownerOf(key, place)) as unknown as JournalEntry;
  return place.entry === '' ? { ...kept, sent } : kept;
}

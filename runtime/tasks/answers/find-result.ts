import * as z from 'zod/v4';

import type { TaskLists } from '../../contracts/callback';
import type { TaskReport } from '../../contracts/queue';
import { describeIssues } from '../../errors/describe-issues';
import { RuntimeError } from '../../errors/runtime-error';
import { elapsedMs, monotonicMs, sleep } from '../../util/clock';
import { isJsonObject, tryParseJson } from '../../util/json';
import { checkResultKey, type KeyRules } from './check-callback';

export interface ResultQuery {
  readonly resultKey: string;
  /** Undefined: the newest one. */
  readonly taskId?: string;
  /** Default 0: as it is at this moment. */
  readonly waitSeconds?: number;
  readonly signal?: AbortSignal;
}

const PAGE = 100;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MAX_WAIT_SECONDS = 86_400;

const querySchema = z.object({
  resultKey: z.string().min(1),
  taskId: z.string().optional(),
  waitSeconds: z.number().min(0).max(MAX_WAIT_SECONDS).default(0),
});

/**
 * The report of a task under a result key, which stays there. Rejects with RESULT_NOT_READY when it has not come in time,
 * CALLBACK_KEY_FORBIDDEN, CALLBACK_KEY_UNUSABLE, REDIS_UNAVAILABLE, INPUT_INVALID or RUN_CANCELLED.
 */
export async function findResult(
  { lists, keys }: { readonly lists: TaskLists; readonly keys: KeyRules },
  query: ResultQuery,
): Promise<TaskReport> {
  const parsed = querySchema.safeParse(query);
  if (!parsed.success) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(parsed.error, 'the query') });
  const { resultKey, taskId, waitSeconds } = parsed.data;
  checkResultKey(resultKey, keys);
  const { signal } = query;
  const startedAt = monotonicMs();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (signal?.aborted === true) throw new RuntimeError('RUN_CANCELLED');
    const report = await search(lists, resultKey, taskId);
    if (report !== undefined) return report;
    const leftMs = waitSeconds * 1000 - (monotonicMs() - startedAt);
    if (leftMs <= 0) {
      const waitedSeconds = Math.round(elapsedMs(startedAt) / 100) / 10;
      throw new RuntimeError('RESULT_NOT_READY', { key: resultKey, waitedSeconds });
    }
    await sleep(Math.min(pauseMs, leftMs), signal).catch(() => undefined);
  }
}

async function search(lists: TaskLists, key: string, taskId: string | undefined): Promise<TaskReport | undefined> {
  for (let from = 0; ; from += PAGE) {
    const entries = await lists.read(key, { from, count: PAGE });
    const reports = entries.map(readReport).filter((report) => report !== undefined);
    const found = reports.find(({ task_id }) => taskId === undefined || task_id === taskId);
    if (found !== undefined || entries.length < PAGE) return found;
  }
}

/** Others may push there too; what is no report is passed over. */
function readReport(entry: string): TaskReport | undefined {
  const parsed = tryParseJson(entry, Infinity);
  return parsed.ok && isJsonObject(parsed.value) && 'result' in parsed.value
    ? (parsed.value as unknown as TaskReport)
    : undefined;
}

import { type QueueTask, tenantOf } from '../../contracts/queue';
import { isErrorCode } from '../../errors/codes';
import { RuntimeError } from '../../errors/runtime-error';

/** What stands on the dead-letter list, as JSON. */
export interface DeadEntry {
  /** ISO 8601. */
  readonly failed_at: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** 0 for what never was a task. */
  readonly attempts: number;
  readonly task_id?: string;
  readonly tenant_id?: string;
  /** What stood on the list. */
  readonly raw: string;
  /** Beside `raw`, when its bytes are not UTF-8: the bytes. */
  readonly raw_base64?: string;
  /** True when the task was too large to be kept: `raw` is how it began. */
  readonly is_cut?: true;
}

/** The entry for a task that will not be tried again, or for bytes that are none. */
export function deadLetterOf(dead: {
  readonly raw: Buffer | string;
  readonly isCut?: boolean;
  readonly task?: QueueTask;
  readonly error: RuntimeError;
  readonly attempts: number;
}): string {
  const { raw, task, error, attempts } = dead;
  const text = typeof raw === 'string' ? raw : raw.toString('utf8');
  const isText = typeof raw === 'string' || Buffer.from(text, 'utf8').equals(raw);
  const entry: DeadEntry = {
    failed_at: new Date().toISOString(),
    ...error.toSummary(),
    attempts,
    ...(task === undefined ? {} : { task_id: task.task_id, tenant_id: tenantOf(task) || undefined }),
    raw: text,
    ...(isText || dead.isCut === true ? {} : { raw_base64: Buffer.from(raw).toString('base64') }),
    ...(dead.isCut === true ? { is_cut: true } : {}),
  };
  return JSON.stringify(entry);
}

/** The error that an entry tells of, as far as it does. */
export function errorOfEntry(entry: string): RuntimeError {
  const { code, message } = JSON.parse(entry) as DeadEntry;
  const error = new RuntimeError(isErrorCode(code) ? code : 'INTERNAL_ERROR');
  error.message = message;
  return error;
}

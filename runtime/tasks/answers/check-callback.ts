import type { Callback, QueueTask } from '../../contracts/queue';
import { RuntimeError } from '../../errors/runtime-error';

/** Which keys tasks may name. */
export interface KeyRules {
  /** A key begins with one of these and goes on after it. */
  readonly prefixes: readonly string[];
  /** Keys that are the queue's own with all that begins with them and a colon, whatever the prefixes say. */
  readonly reserved: readonly string[];
}

const KEY_FIELDS = ['result_key', 'counter_key', 'status_key'] as const;
/** Everything below belongs to this package. */
const OWN_PREFIX = 'elo:agent:';
const MAX_KEY_LENGTH = 512;
export const MAX_TOTAL_TASKS = 1_000_000;

/** Throws CALLBACK_KEY_FORBIDDEN. */
export function checkKeys(callback: Callback, rules: KeyRules): void {
  const seen = new Set<string>();
  for (const field of KEY_FIELDS) {
    const key = callback[field];
    if (key === undefined) continue;
    const reason = seen.has(key) ? 'another field names the same key' : keyIssue(key, rules);
    if (reason !== undefined) throw new RuntimeError('CALLBACK_KEY_FORBIDDEN', { field, reason });
    seen.add(key);
  }
}

/** Why a key must not be used; undefined when it may. */
function keyIssue(key: string, { prefixes, reserved }: KeyRules): string | undefined {
  if (key.length > MAX_KEY_LENGTH) return `it is longer than ${MAX_KEY_LENGTH} characters`;
  if (/\p{Cc}/u.test(key) || !key.isWellFormed()) return 'it holds control characters';
  const isAllowed = prefixes.some((prefix) => key.startsWith(prefix) && key.length > prefix.length);
  if (!isAllowed) return `it does not begin with ${prefixes.join(' or ')}, with something after it`;
  const isOwn = reserved.some((own) => key === own || key.startsWith(`${own}:`)) || key.startsWith(OWN_PREFIX);
  return isOwn ? 'it is a key of the queue itself' : undefined;
}

/** Throws CALLBACK_KEY_FORBIDDEN. */
export function checkResultKey(key: string, rules: KeyRules): void {
  checkKeys({ result_key: key }, rules);
}

/** How many tasks share the counter, 1 when the task does not say; undefined when what it says makes no sense. */
export function totalTasks({ meta }: Pick<QueueTask, 'meta'>): number | undefined {
  const given = meta.total_tasks;
  if (given === undefined || given === null || given === '' || given === 0) return 1;
  const total = typeof given === 'string' ? Number(given) : given;
  const isCount = typeof total === 'number' && Number.isInteger(total) && total >= 1 && total <= MAX_TOTAL_TASKS;
  return isCount ? total : undefined;
}

/** Whether a task asks for an answer anywhere. */
export function hasCallback({ callback }: Pick<QueueTask, 'callback'>): boolean {
  return Object.values(callback ?? {}).some((value) => value !== undefined);
}

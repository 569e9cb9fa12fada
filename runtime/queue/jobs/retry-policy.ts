import type { RuntimeError } from '../../errors/runtime-error';

/** What becomes of a task whose try has failed. */
type Verdict =
  /** Another try, one of those that it has. */
  | { readonly kind: 'retry' }
  /** Later again, and this was no try. */
  | { readonly kind: 'defer'; readonly delayMs: number }
  | { readonly kind: 'die' };

export interface FailedTry {
  readonly error: RuntimeError;
  /** Counts from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** How often it was taken up before without that being a try. */
  readonly deferrals: number;
  /** Since it came into the queue. */
  readonly ageMs: number;
}

const INSTALLATION_DELAY = { firstMs: 1000, longestMs: 60_000 };
const RUNNING_DELAY = { firstMs: 1000, longestMs: 5000 };
const TENANT_DELAY = { firstMs: 2000, longestMs: 30_000 };
const FIRST_SPREAD_MS = 5000;
const LONGEST_SPREAD_MS = 600_000;
const RETRY_DELAY = { firstMs: 1000, longestMs: 300_000 };
const TELLING_DELAY = { firstMs: 1000, longestMs: 30_000 };
/** A webhook that does not answer must not hold up the others for long. */
const MAX_WEBHOOK_ROUNDS = 5;
const SLOT_DELAY = { firstMs: 50, longestMs: 2000 };
const SLOT_ASKS_PER_SECOND = 200;
/** Then a task that still meets these is treated like any that fails. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

export function judgeFailure({ error, attempt, maxAttempts, deferrals, ageMs }: FailedTry): Verdict {
  const isOutage = error.scope === 'installation';
  // However long that takes: it is what the tenant's limit asks for.
  if (error.scope === 'tenant') return { kind: 'defer', delayMs: tenantDelayMs(error, deferrals) };
  if (ageMs < LONGEST_WAIT_MS) {
    if (isOutage) return { kind: 'defer', delayMs: growingDelay(deferrals, INSTALLATION_DELAY) };
    if (error.scope === 'attempt') return { kind: 'defer', delayMs: growingDelay(deferrals, RUNNING_DELAY) };
  }
  const mayRetry = error.retryable || isOutage;
  return mayRetry && attempt < maxAttempts ? { kind: 'retry' } : { kind: 'die' };
}

/**
 * The error may know when there is room again. Tasks that wait for the same moment do not all come at once, and the less so
 * the longer they have waited: a backlog must not take the queue from others minute by minute.
 */
function tenantDelayMs({ details }: RuntimeError, deferrals: number): number {
  const seconds = Number(details.seconds);
  if (!(seconds > 0)) return growingDelay(deferrals, TENANT_DELAY);
  const spreadMs = Math.min(LONGEST_SPREAD_MS, FIRST_SPREAD_MS * 2 ** Math.min(deferrals, 30));
  return Math.round(seconds * 1000 + Math.random() * spreadMs);
}

/** The delay before the next attempt. */
export function retryDelayMs(attemptsMade: number): number {
  return growingDelay(attemptsMade - 1, RETRY_DELAY);
}

/**
 * Before a death is told again that `failure` kept from being told after so many tries; undefined: nobody can be told.
 */
export function tellingDelayMs(failure: RuntimeError, times: number): number | undefined {
  const isWebhook = failure.code === 'CALLBACK_FAILED' && times < MAX_WEBHOOK_ROUNDS;
  return isWebhook || failure.scope === 'installation' ? growingDelay(times, TELLING_DELAY) : undefined;
}

/**
 * How long a task waits whose tenant has all its slots taken. `waiting` others do so too: together they ask
 * SLOT_ASKS_PER_SECOND times, however many they are, so that a tenant's backlog is no load for the rest.
 */
export function slotDelayMs(deferrals: number, waiting: number): number {
  const sharedMs = (waiting / SLOT_ASKS_PER_SECOND) * 1000;
  return Math.max(growingDelay(deferrals, SLOT_DELAY), Math.round(sharedMs * (0.5 + Math.random())));
}

/** Doubles each time; half of it is chance, so that tasks that failed together do not come back together. */
export function growingDelay(
  times: number,
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
): number {
  const delay = Math.min(longestMs, firstMs * 2 ** Math.min(times, 30));
  return Math.round(delay / 2 + (Math.random() * delay) / 2);
}

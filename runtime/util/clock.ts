import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds that only ever grow; for durations and deadlines. */
export function monotonicMs(): number {
  return performance.now();
}

/** Whole milliseconds since `startedAt` of monotonicMs. */
export function elapsedMs(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}

/** A random UUID. */
export function newId(): string {
  return randomUUID();
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Waits; rejects with the signal's reason when it is aborted first. */
export async function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  await wait(delayMs, undefined, { signal, ref: true });
}

/** Calls `action` once, without keeping the process alive; returns the stop function. */
export function after(delayMs: number, action: () => void): () => void {
  const timer = setTimeout(action, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Calls `action` every `periodMs` without keeping the process alive; returns the stop function. */
export function every(periodMs: number, action: () => void): () => void {
  const timer = setInterval(action, periodMs);
  timer.unref();
  return () => clearInterval(timer);
}

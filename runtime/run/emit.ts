import type { OnEvent } from '../contracts/event';

/** A listener that fails must not end a run that costs money, nor the process. */
export function safely(onEvent: OnEvent | undefined): OnEvent {
  if (onEvent === undefined) return () => undefined;
  return (event) => void new Promise((resolve) => resolve(onEvent(event))).catch(() => undefined);
}

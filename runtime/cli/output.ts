import type { ErrorSummary } from '../errors/runtime-error';
import { escapeHidden } from '../util/text/escape-hidden';

/** The answer of a command, on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** One JSON line on standard error. */
export function printError(error: ErrorSummary): void {
  const { code, message, hint } = error;
  process.stderr.write(`${escapeHidden(JSON.stringify({ code, message, hint }))}\n`);
}

import type { ErrorSummary } from '../errors/runtime-error';

/** The answer of a command, on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** One JSON line on standard error. */
export function printError(error: ErrorSummary): void {
  process.stderr.write(`${JSON.stringify({ code: error.code, message: error.message, hint: error.hint })}\n`);
}

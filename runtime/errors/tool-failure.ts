import type { ErrorCode } from './codes';
import { describeError, type ErrorDetails, type ErrorSummary } from './runtime-error';

/** A tool output that tells the model of a failure it can act on: code, message and hint from the error table. */
export function toolFailure(
  code: ErrorCode,
  details: ErrorDetails,
): {
  readonly isError: true;
  readonly code: ErrorCode;
  readonly value: { readonly [Key in keyof ErrorSummary]: string };
} {
  return { isError: true, code, value: describeError(code, details) };
}

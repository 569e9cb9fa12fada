import { isRuntimeError, RuntimeError } from './runtime-error';

/** Turns whatever was thrown into a RuntimeError; a RuntimeError stays the same object. */
export function toRuntimeError(error: unknown): RuntimeError {
  if (isRuntimeError(error)) return error;
  return new RuntimeError('INTERNAL_ERROR', { reason: errorText(error) }, { cause: error });
}

/** The shortest honest text of an unknown error. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(errorText).join('; ');
  }
  // Global fetch says only this, and keeps what happened in its cause.
  if (error instanceof Error && error.message === 'fetch failed' && error.cause !== undefined) {
    return errorText(error.cause);
  }
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  try {
    return String(error);
  } catch {
    // Thrown by a plugin, perhaps: an object without a prototype has no text.
    return `a thrown ${typeof error}`;
  }
}

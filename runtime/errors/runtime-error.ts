import { ERROR_CODES, type ErrorCategory, type ErrorCode, type ErrorScope } from './codes';

export type ErrorDetails = Readonly<Record<string, string | number | boolean | undefined>>;

/** What a user, a script or a model is told of an error. */
export interface ErrorSummary {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

/** The error table's sentence for a code, with the facts put in. */
export function describeError(code: ErrorCode, details: ErrorDetails = {}): ErrorSummary {
  const fill = (template: string): string =>
    template.replace(/\{(\w+)\}/g, (_match, name: string) => String(details[name] ?? 'unknown'));
  const { message, hint } = ERROR_CODES[code];
  return { code, message: fill(message), hint: fill(hint) };
}

const MARK = Symbol.for('universal-ai-agent.runtime-error');

/** The only error that leaves the runtime. Facts are in `details`, the original in `cause`. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  readonly [MARK] = true;
  readonly code: ErrorCode;
  readonly hint: string;
  readonly category: ErrorCategory;
  readonly retryable: boolean;
  readonly scope: ErrorScope;
  readonly details: ErrorDetails;
  /** The result so far (an AgentResult) when the run had begun: steps and usage are never lost. */
  readonly result?: unknown;

  constructor(
    code: ErrorCode,
    details: ErrorDetails = {},
    { result, ...options }: { readonly cause?: unknown; readonly result?: unknown } = {},
  ) {
    const summary = describeError(code, details);
    super(summary.message, options);
    this.result = result;
    this.code = code;
    this.hint = summary.hint;
    this.category = ERROR_CODES[code].category;
    this.retryable = ERROR_CODES[code].retryable;
    this.scope = ERROR_CODES[code].scope ?? 'task';
    this.details = details;
  }

  /** The same error, with what the run had done when it came. */
  withResult(result: unknown): RuntimeError {
    const { code, details, stack } = this;
    return Object.assign(new RuntimeError(code, details, { ...('cause' in this && { cause: this.cause }), result }), {
      stack,
    });
  }

  /** Code, message and hint, without stack, cause or details. */
  toSummary(): ErrorSummary {
    return { code: this.code, message: this.message, hint: this.hint };
  }
}

/** True for a RuntimeError of any loaded copy of this package. */
export function isRuntimeError(error: unknown): error is RuntimeError {
  return typeof error === 'object' && error !== null && MARK in error;
}

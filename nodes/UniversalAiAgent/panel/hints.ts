import type { IExecuteFunctions } from 'n8n-workflow';

/** A warning of a run, or the error of an item after which the node continues. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** So many fit above the output; all of them are in each item's `warnings`. */
const MAX_HINTS = 5;

/** Shows each warning once above the output, and logs a bill that could not be written. */
export function reportWarnings(context: IExecuteFunctions, warnings: readonly Warning[]): void {
  const unique = [...new Map(warnings.map((warning) => [warning.message, warning])).values()];
  for (const { code, message } of unique) {
    if (code === 'LEDGER_WRITE_FAILED') context.logger.error(`${code}: ${message}`);
  }
  if (unique.length === 0) return;
  context.addExecutionHints(
    ...unique.slice(0, MAX_HINTS).map(({ code, message, hint }) => ({
      message: [message, hint, `(${code})`].filter(Boolean).join(' '),
      type: code === 'LEDGER_WRITE_FAILED' ? ('danger' as const) : ('warning' as const),
      location: 'outputPane' as const,
    })),
  );
}

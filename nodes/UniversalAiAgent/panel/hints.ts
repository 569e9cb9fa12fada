import type { IExecuteFunctions } from 'n8n-workflow';

import type { AgentResult } from '../../../runtime';

type Warning = AgentResult['warnings'][number];

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
    ...unique.slice(0, MAX_HINTS).map(({ code, message }) => ({
      message: `${message} (${code})`,
      type: code === 'LEDGER_WRITE_FAILED' ? ('danger' as const) : ('warning' as const),
      location: 'outputPane' as const,
    })),
  );
}

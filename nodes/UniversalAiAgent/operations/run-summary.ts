import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import type { AgentResult, ToolCallReport } from '../../../runtime/host';
import type { Chat } from '../../shared/callers/chat';
import { escapeHtml } from '../../shared/hints';

/** Number of tool calls that are named; the others are in the item. */
const MOST_NAMED = 5;

interface Ran {
  readonly modelCalls: number;
  readonly calls: readonly ToolCallReport[];
  readonly ms: number;
  readonly usd: number;
}

/** Shows calls, time and cost above the output of a manual run, and of one that a chat started: its item does not have them. */
export function hintAtRuns(context: IExecuteFunctions, results: readonly IDataObject[], chat?: Chat): void {
  const summary = context.getMode() === 'manual' || chat !== undefined ? summaryOf(results) : undefined;
  if (summary === undefined) return;
  context.addExecutionHints({ message: escapeHtml(summary), type: 'info', location: 'outputPane' });
}

/** Says above the output that a call waits, and how to decide on it. */
export function hintAtApprovals(context: IExecuteFunctions, results: readonly IDataObject[]): void {
  for (const { awaiting, run_id: runId } of results as readonly Partial<AgentResult>[]) {
    if (awaiting === undefined) continue;
    const message = `${awaiting.tool} waits for an approval. Decide with Universal AI Agent Admin, Approval: Decide, and the Run ID ${runId ?? ''}.`;
    context.addExecutionHints({ message: escapeHtml(message), type: 'warning', location: 'outputPane' });
  }
}

/** Calls, time and cost of runs, by their results, in one line. Undefined where all of them are replayed. */
export function summaryOf(results: readonly IDataObject[]): string | undefined {
  const runs = results.flatMap((json) => ranIn(json) ?? []);
  if (runs.length === 0) return undefined;
  const sum = (figure: (run: Ran) => number): number => runs.reduce((all, run) => all + figure(run), 0);
  const calls = runs.flatMap((run) => run.calls);
  const figures = [
    ...(runs.length === 1 ? [] : [some(runs.length, 'run')]),
    some(
      sum(({ modelCalls }) => modelCalls),
      'model call',
    ),
    `${some(calls.length, 'tool call')}${runs.length === 1 ? namesOf(calls) : failuresOf(calls)}`,
    `${sum(({ ms }) => ms)} ms`,
    `$${sum(({ usd }) => usd).toFixed(8)}`,
  ];
  return figures.join(', ');
}

function ranIn({ iterations, result, duration_ms: ms, cost_usd: usd, replayed }: IDataObject): Ran | undefined {
  const { tool_calls: calls } = (result ?? {}) as { readonly tool_calls?: unknown };
  if (typeof iterations !== 'number' || typeof ms !== 'number' || !Array.isArray(calls)) return undefined;
  return replayed === true ? undefined : { modelCalls: iterations, calls, ms, usd: Number(usd) };
}

const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

function namesOf(calls: Ran['calls']): string {
  if (calls.length === 0) return '';
  const names = calls
    .slice(0, MOST_NAMED)
    .map(({ tool, duration_ms: ms, error }) => `${tool} ${error === undefined ? '' : 'failed after '}${ms} ms`);
  return ` (${names.join(', ')}${calls.length > MOST_NAMED ? ', …' : ''})`;
}

function failuresOf(calls: Ran['calls']): string {
  const failed = calls.filter(({ error }) => error !== undefined).length;
  return failed === 0 ? '' : ` (${failed} failed)`;
}

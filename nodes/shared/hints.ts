import type { IExecuteFunctions } from 'n8n-workflow';

import { type Chat, isForCustomers } from './callers/chat';
import { internals } from './callers/engine-request';
import { oneText } from './errors';
import type { ItemOutcome } from './item';

/** A warning of a run, or the error of an item after which the node continues. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** Number of hints that fit above the output; all warnings are in the items. */
const MAX_HINTS = 5;
const MISSING_BILL = 'LEDGER_WRITE_FAILED';

/** Shows each warning once above the output, a bill that could not be written first, and logs that one. */
export function reportWarnings(
  context: Pick<IExecuteFunctions, 'addExecutionHints' | 'logger'>,
  warnings: readonly Warning[],
): void {
  const unique = [...new Map(warnings.map((warning) => [warning.message, warning])).values()];
  const danger = unique.filter(({ code }) => code === MISSING_BILL);
  for (const { code, message } of danger) context.logger.error(`${code}: ${message}`);
  const hints = [...danger, ...unique.filter(({ code }) => code !== MISSING_BILL)].slice(0, MAX_HINTS);
  if (hints.length === 0) return;
  context.addExecutionHints(
    ...hints.map((warning) => ({
      message: toHtml(warning),
      type: warning.code === MISSING_BILL ? ('danger' as const) : ('warning' as const),
      location: 'outputPane' as const,
    })),
  );
}

/** n8n shows hints as HTML, and messages quote callers, models and tools. */
function toHtml(warning: Warning): string {
  return escapeHtml(oneText(warning));
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (mark) => ENTITIES[mark] ?? mark);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Shown where a chat ran without a memory and without a session. */
export function hintAtMemory(context: IExecuteFunctions, outcomes: readonly ItemOutcome[]): void {
  if (!outcomes.some(({ isForgotten }) => isForgotten)) return;
  const way = context.getNode().typeVersion > 2 ? 'set Session ID, or connect a Memory' : 'connect a Memory';
  const message = `Each message of this chat starts a new conversation: ${way} to have it remembered.`;
  context.addExecutionHints({ message, type: 'info', location: 'outputPane' });
}

/** Shown if a chat may get more than the answer, the whole item or an error that no node receives, or none. */
export function hintAtChat(context: IExecuteFunctions, chat: Chat | undefined, isWhole: boolean): void {
  if (chat?.answeredBy === 'item' || chat?.answeredBy === 'nodes') hintAtStop(context);
  if (chat?.answeredBy === 'item') hintAtLeaks(context, isWhole);
}

function hintAtStop(context: IExecuteFunctions): void {
  if (!isForCustomers(context.getNode()) || context.continueOnFail()) return;
  const message =
    'If this node fails, the customer gets no answer, or reads "Error in workflow". Set On Error to Continue: the output is then a sentence for the customer.';
  context.addExecutionHints({ message, type: 'info', location: 'outputPane' });
}

function hintAtLeaks(context: IExecuteFunctions, isWhole: boolean): void {
  const { name, onError, ...node } = context.getNode();
  const warn = (message: string): void =>
    context.addExecutionHints({ message, type: 'warning', location: 'outputPane' });
  if (isWhole) {
    const way = isForCustomers(node)
      ? 'Set Output: Details to Auto.'
      : 'Turn on Output: Simplify, or replace this node: a new one sends a chat the answer alone.';
    warn(`Whoever uses this chat can read the whole item in the browser, with cost, model and tool results. ${way}`);
  }
  const { main = [] } = internals(context).workflow.connectionsBySourceNode[name] ?? {};
  if (onError === 'continueErrorOutput' && (main[1] ?? []).length === 0) {
    warn(
      'Nothing is wired to the error output, so the chat gets the error when this node fails. Wire a node there, or set On Error to Continue.',
    );
  }
}

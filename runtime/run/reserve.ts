import { type Budget, reservation } from '../billing/budget';
import { findPrice } from '../billing/cost';
import { DEFAULTS } from '../config/runtime-config';
import type { Reservation } from '../contracts/ledger/ledger';
import type { ModelPrice, Usage } from '../contracts/ledger/usage';
import { type Message, textOf } from '../contracts/message';
import type { Toolset } from '../contracts/tools/tool';
import type { PlannedRun } from './run';

/** Room for the first model call: a text has hardly ever more tokens than characters. */
export function firstReservation(
  { plan, tenant }: PlannedRun,
  messages: readonly Message[],
  toolCalls = 0,
): Reservation | undefined {
  if (plan.budget.monthly === undefined) return undefined;
  // What a session holds is read after the claim.
  const known = definitionsLength(plan.toolset) + (plan.session?.windowTokens ?? 0);
  const characters = messages.reduce((sum, message) => sum + messageLength(message), known);
  return reserve({ plan, tenant }, characters + toolCalls * DEFAULTS.assumedResultTokens);
}

/** Characters of a message. */
export function messageLength(message: Message): number {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  return textOf(message.content).length + (calls.length === 0 ? 0 : JSON.stringify(calls).length);
}

/** Room for the call after `last`, whose transcript will hold that one's and the results of `toolCalls` calls. */
export function nextReservation(run: PlannedRun, last: Usage, toolCalls: number): Reservation | undefined {
  return reserve(run, last.promptTokens + last.completionTokens + toolCalls * DEFAULTS.assumedResultTokens);
}

function reserve({ plan, tenant }: Pick<PlannedRun, 'plan' | 'tenant'>, promptTokens: number): Reservation | undefined {
  const { budget, modelIds, settings } = plan;
  return roomFor({ budget, modelIds, maxTokens: settings.maxTokens, prices: tenant.prices }, promptTokens);
}

/** Room for a model call at the price of the dearest model that may answer; undefined for a tenant without limits. */
export function roomFor(
  call: {
    readonly budget: Budget;
    readonly modelIds: readonly string[];
    readonly maxTokens?: number;
    readonly prices: readonly ModelPrice[];
  },
  promptTokens: number,
): Reservation | undefined {
  const expected = {
    promptTokens: Math.max(promptTokens, DEFAULTS.assumedPromptTokens),
    completionTokens: call.maxTokens ?? DEFAULTS.assumedCompletionTokens,
  };
  const prices = call.modelIds.flatMap((id) => findPrice(call.prices, [id]) ?? []);
  return reservation(call.budget, expected, prices);
}

const lengths = new WeakMap<Toolset, number>();

function definitionsLength(toolset: Toolset): number {
  const known = lengths.get(toolset) ?? JSON.stringify(toolset.definitions).length;
  lengths.set(toolset, known);
  return known;
}

import { addSpent, assertRunBudget, type Budget, NOTHING_SPENT, reservation } from '../billing/budget';
import { findPrice, sumDecimals } from '../billing/cost';
import { estimateUsage } from '../billing/estimate-usage';
import { createUsageMeter, type EndedCall, type UsageMeter } from '../billing/usage-meter';
import type { Account, MadeCall, PlannedCall } from '../contracts/ledger/account';
import type { Spent } from '../contracts/ledger/journal';
import type { OpenCall, Reservation } from '../contracts/ledger/ledger';
import type { ModelCallPlace, ModelPrice, Usage } from '../contracts/ledger/usage';
import { RuntimeError } from '../errors/runtime-error';
import type { RunRecord } from './run-record';

/** A model call that is a step. */
interface StepCall extends MadeCall {
  readonly step: number;
}

type Numbered = ModelCallPlace & { readonly callNo: number };

/** The account of a run, with the steps that are on it. */
export interface RunAccount extends Account {
  readonly meter: UsageMeter;
  /** The model call of a step, as it is put on record before it is made. */
  readonly openStep: (step: number) => OpenCall;
  /** What the run holds, with room for its next step. */
  readonly holdStep: (next: Reservation | undefined) => Reservation | undefined;
  readonly chargeStep: (call: StepCall) => Promise<Usage | undefined>;
  /** Adds a step whose usage was unknown when the run ended. */
  readonly chargeLate: (call: StepCall) => Promise<void>;
  /** The step that ended the run, if nobody knows what it has used. */
  readonly lost: () => OpenCall | undefined;
}

interface AccountParts {
  readonly record: Pick<RunRecord, 'keep' | 'addLate' | 'next'>;
  readonly budget: Budget;
  readonly prices: readonly ModelPrice[];
  /** The model of the steps. */
  readonly modelId: string;
  /** Steps that are on record, and what was spent on them. */
  readonly before?: { readonly step: number; readonly spent: Spent };
  /** The step whose call was opened with the claim; undefined where none was. */
  readonly opened?: number;
  readonly signal: AbortSignal;
}

/** Opens the account of a run that was claimed. */
export function openAccount(parts: AccountParts): RunAccount {
  const { record, budget, prices, modelId, before, signal } = parts;
  const meter = createUsageMeter({ modelId, prices });
  const numbers = countCalls(parts);
  const planned = new Map<number, Planned>();
  let stepHold: Reservation | undefined;
  const spent = (): Spent => {
    const { costUsd, usage } = meter.totals();
    return addSpent(before?.spent ?? NOTHING_SPENT, { costUsd, tokens: usage.promptTokens + usage.completionTokens });
  };
  const held = (): Reservation | undefined => sumOf([stepHold, ...[...planned.values()].map(({ hold }) => hold)]);
  return {
    meter,
    spent,
    openStep: (step) => ({ ...numbers.ofStep(step), modelRequested: modelId }),
    holdStep: (next) => {
      stepHold = next;
      return held();
    },
    ...chargeSteps(parts, { meter, numbers }),
    reserve: async (call) => {
      assertRunBudget(budget, spent);
      const place = { ...numbers.beside(), purpose: call.purpose };
      planned.set(place.callNo, { ...place, modelId: call.modelId, hold: roomFor(call, parts) });
      const opening = { ...place, modelRequested: call.modelId };
      await record.next({ opening, taking: [], reserve: held() }, signal).catch((error: unknown) => {
        planned.delete(place.callNo);
        throw error;
      });
      return place.callNo;
    },
    charge: async (callNo, made) => {
      const call = planned.get(callNo);
      if (call === undefined) {
        throw new RuntimeError('INTERNAL_ERROR', { reason: `model call ${callNo} is not reserved, or was charged` });
      }
      planned.delete(callNo);
      const { hold: _hold, ...place } = call;
      const known = await withEstimates(made);
      const ended = meter.add({ ...place, ...known });
      if (ended === undefined) return undefined;
      record.keep(ended);
      await record.next({ taking: [] }, signal);
      return known.reply?.usage;
    },
  };
}

/** A reserved call that was not charged yet. */
interface Planned extends Numbered, Pick<PlannedCall, 'modelId'> {
  readonly hold?: Reservation;
}

interface CallNumbers {
  readonly ofStep: (step: number) => Numbered;
  /** The next number, in the step that was the last to end. */
  readonly beside: () => Numbered;
  readonly stepEnded: (step: number) => void;
}

function countCalls({ opened, before }: AccountParts): CallNumbers {
  const steps = new Map<number, number>(opened === undefined ? [] : [[opened, 1]]);
  let count = steps.size;
  let last = before?.step ?? 0;
  return {
    ofStep: (step) => {
      const callNo = steps.get(step) ?? ++count;
      steps.set(step, callNo);
      return { callNo, step };
    },
    beside: () => ({ callNo: ++count, step: last }),
    stepEnded: (step) => {
      last = step;
    },
  };
}

function chargeSteps(
  { record, modelId, prices }: AccountParts,
  { meter, numbers }: { readonly meter: UsageMeter; readonly numbers: CallNumbers },
): Pick<RunAccount, 'chargeStep' | 'chargeLate' | 'lost'> {
  let lost: OpenCall | undefined;
  return {
    lost: () => lost,
    chargeStep: async ({ step, ...made }) => {
      const known = await withEstimates(made);
      const place = numbers.ofStep(step);
      numbers.stepEnded(step);
      const ended = meter.add({ ...place, ...known });
      const { sent, answered } = known.attempts;
      if (ended !== undefined) record.keep(ended);
      else lost = { ...place, modelRequested: modelId, unansweredRequests: sent - answered, errorCode: known.errorCode };
      return known.reply?.usage;
    },
    chargeLate: async ({ step, ...made }) => {
      if (lost?.step !== step) return;
      const { callNo, errorCode } = lost;
      const call = { callNo, step, ...(await withEstimates(made)), errorCode };
      const ended = createUsageMeter({ modelId, prices }).add(call);
      if (ended !== undefined) await record.addLate(ended);
    },
  };
}

/** Room for a call at the price of its model. Throws MODEL_UNPRICED. */
function roomFor(call: PlannedCall, { budget, prices }: AccountParts): Reservation | undefined {
  const price = findPrice(prices, [call.modelId]);
  const isLimited = budget.maxCostUsd !== undefined || budget.monthly?.costLimitUsd !== undefined;
  if (isLimited && price === undefined) throw new RuntimeError('MODEL_UNPRICED', { model: call.modelId });
  return reservation(budget, call, price === undefined ? [] : [price]);
}

/** All that a run holds at a time, under the same limits. */
function sumOf(parts: readonly (Reservation | undefined)[]): Reservation | undefined {
  const [first, ...others] = parts.filter((part) => part !== undefined);
  if (first === undefined || others.length === 0) return first;
  const all = [first, ...others];
  return {
    ...first,
    holdCostUsd: sumDecimals(all.map(({ holdCostUsd }) => holdCostUsd)),
    holdTokens: all.reduce((sum, { holdTokens }) => sum + holdTokens, 0),
  };
}

/** Estimates the usage of replies that report none. Copies the attempts: a model that ignores the signal may still change them. */
async function withEstimates({ request, reply, error }: MadeCall): Promise<Omit<EndedCall, keyof ModelCallPlace>> {
  const { sent, answered, wasted = [] } = request.attempts;
  const attempts = { sent, answered, wasted: [...wasted] };
  const [known] = reply === undefined ? [] : await estimateUsage([reply], request);
  attempts.wasted = [...(await estimateUsage(attempts.wasted, request))];
  return { attempts, reply: known, errorCode: error?.code };
}

import { addSpent, assertRunBudget, type Budget, reservation } from '../billing/budget';
import { dearestCost, findPrice } from '../billing/cost';
import { estimateUsage } from '../billing/estimate-usage';
import { createUsageMeter, type EndedCall, type UsageMeter } from '../billing/usage-meter';
import type { Account, MadeCall, PlannedCall, SettledModelCall } from '../contracts/ledger/account';
import type { Spent } from '../contracts/ledger/journal';
import type { OpenCall, Reservation } from '../contracts/ledger/ledger';
import type { ModelCallPlace, ModelCallRecord, ModelPrice, StepPurpose, Usage } from '../contracts/ledger/usage';
import { RuntimeError } from '../errors/runtime-error';
import { type Holds, trackHolds } from './holds';
import type { NextWrite, RunRecord } from './run-record';

type Numbered = ModelCallPlace & { readonly callNo: number };

/** The account of a run. */
export interface RunAccount extends Account, StepsOnAccount {
  readonly meter: UsageMeter;
  /** Throws BUDGET_EXCEEDED where the run, or one above it, has used up what it may. */
  readonly assertRoom: () => void;
  /** The same, as soon as anything was spent beside the steps: what a step may spend is looked at before the tools before it run. */
  readonly assertRoomBeside: () => void;
  /** Adds a call of a run below, which that one puts on record. */
  readonly addBelow: (call: ModelCallRecord) => void;
  /** Numbers of calls that were put on record and then refused. */
  readonly unsent: () => readonly number[];
}

/** A model call that is a step. */
export interface StepCall {
  /** Default: `step`. */
  readonly purpose?: StepPurpose;
  /** Id in the price table. Default: the model of the run. */
  readonly modelId?: string;
}

/** The steps of a run, as far as they cost something. */
interface StepsOnAccount {
  /** Returns the model call of a step as it is put on record before it is made, with the room that it needs. */
  readonly openStep: (
    step: number,
    next: Reservation | undefined,
    call?: StepCall,
  ) => Pick<NextWrite, 'opening' | 'room'>;
  /** Gives the room for the next step back while other runs work for this one, so that nobody waits for it. */
  readonly yieldStep: () => Promise<void>;
  /** Takes it again, as `openStep` did; undefined where nothing was given back. */
  readonly reclaimStep: () => Promise<void> | undefined;
  readonly chargeStep: (made: SettledModelCall, call?: StepCall) => Promise<Usage | undefined>;
  /** Adds a step whose usage was unknown when the run ended. */
  readonly chargeLate: (call: SettledModelCall) => Promise<void>;
  /** The step that ended the run, if nobody knows what it has used. */
  readonly lost: () => OpenCall | undefined;
}

interface AccountParts {
  readonly record: Pick<RunRecord, 'keep' | 'addLate' | 'next' | 'isOver'>;
  readonly budget: Budget;
  readonly prices: readonly ModelPrice[];
  /** The model of the steps. */
  readonly modelId: string;
  /** Steps that are on record, and what was spent on them. */
  readonly before?: { readonly step: number; readonly spent: Spent };
  /** The step whose call was opened with the claim; undefined where none was. */
  readonly opened?: number;
  readonly signal: AbortSignal;
  /** The account of the run that this one works for. */
  readonly above?: RunAccount;
}

/** Opens the account of a run that was claimed. */
export function openAccount(parts: AccountParts): RunAccount {
  const { record, signal, budget, modelId, before, above } = parts;
  const meter = metered(parts);
  const numbers = countCalls(parts);
  const holds = trackHolds(budget.monthly !== undefined);
  const spent = (): Spent => {
    const { costUsd, usage } = meter.totals();
    const own = { costUsd, tokens: usage.promptTokens + usage.completionTokens };
    return before === undefined ? own : addSpent(before.spent, own);
  };
  const assertRoom = (): void => {
    assertRunBudget(budget, () => addSpent(spent(), holds.expected()));
    above?.assertRoom();
  };
  let isBeside = false;
  const besideSteps = chargeBeside(parts, { meter, numbers, holds, assertRoom });
  return {
    meter,
    spent,
    assertRoom,
    assertRoomBeside: () => {
      if (isBeside) assertRoom();
    },
    addBelow: (call) => {
      isBeside = true;
      meter.addBelow(call);
      above?.addBelow(call);
    },
    openStep: (step, next, call = {}) => ({
      opening: { ...numbers.ofStep(step), purpose: call.purpose, modelRequested: call.modelId ?? modelId },
      room: () => holds.withStep(next),
    }),
    yieldStep: async () => {
      if (holds.yieldStep()) await record.next({ taking: [], room: holds.now }, signal);
    },
    reclaimStep: () => {
      const next = holds.yielded();
      const write = { taking: [], room: () => holds.withStep(next), isVital: true };
      return next && record.next(write, signal).then(() => undefined);
    },
    ...chargeSteps(parts, { meter, numbers, holds }),
    ...besideSteps,
    reserve: (call) => {
      isBeside = true;
      return besideSteps.reserve(call);
    },
  };
}

/** Returns a meter whose calls count for the runs above too. */
function metered({ modelId, prices, above }: AccountParts): UsageMeter {
  const meter = createUsageMeter({ modelId, prices });
  if (above === undefined) return meter;
  return {
    ...meter,
    add: (call) => {
      const record = meter.add(call);
      if (record !== undefined) above.addBelow(record);
      return record;
    },
  };
}

interface Charging {
  readonly meter: UsageMeter;
  readonly numbers: CallNumbers;
  readonly holds: Holds;
}

function chargeBeside(
  parts: AccountParts,
  { meter, numbers, holds, assertRoom }: Charging & Pick<RunAccount, 'assertRoom'>,
): Pick<RunAccount, 'reserve' | 'charge' | 'unsent'> {
  const { record, signal } = parts;
  const planned = new Map<number, Numbered & PlannedCall>();
  const unsent: number[] = [];
  return {
    unsent: () => unsent,
    reserve: async (call) => {
      if (record.isOver()) throw new RuntimeError('RUN_CANCELLED');
      assertRoom();
      const room = roomFor(call, parts);
      const place = { ...numbers.beside(), purpose: call.purpose };
      const { callNo } = place;
      const opening = { ...place, modelRequested: call.modelId };
      const expected = { costUsd: room.costUsd, tokens: call.promptTokens + call.completionTokens };
      holds.expect(callNo, expected);
      try {
        await record.next({ opening, taking: [], room: () => holds.withCall(callNo, room.reserve) }, signal);
      } catch (error) {
        unsent.push(callNo);
        holds.end(callNo);
        throw error;
      }
      holds.begin(callNo, room.reserve);
      planned.set(callNo, { ...place, ...call });
      return callNo;
    },
    charge: async (callNo, made) => {
      const call = planned.get(callNo);
      if (call === undefined) {
        throw new RuntimeError('INTERNAL_ERROR', { reason: `model call ${callNo} is not reserved, or was charged` });
      }
      planned.delete(callNo);
      const known = await withEstimates(made);
      const { step, purpose, modelId } = call;
      const place = { callNo, step, purpose };
      const ended = meter.add({ ...place, modelId, ...known });
      holds.end(callNo);
      const lost = ended === undefined ? { opening: lostCall(place, modelId, known) } : undefined;
      if (ended !== undefined && record.isOver()) await record.addLate(ended);
      else if (ended !== undefined) record.keep(ended);
      if (!record.isOver()) await record.next({ ...lost, taking: [], room: holds.now }, signal);
      return known.reply?.usage;
    },
  };
}

function lostCall(
  place: ModelCallPlace,
  modelRequested: string,
  { attempts: { sent, answered }, errorCode }: Pick<EndedCall, 'attempts' | 'errorCode'>,
): OpenCall {
  return { ...place, modelRequested, unansweredRequests: sent - answered, errorCode };
}

interface CallNumbers {
  readonly ofStep: (step: number) => Numbered;
  /** The next number, in the step that was the last to end. */
  readonly beside: () => Numbered;
  readonly stepEnded: (step: number) => void;
}

function countCalls({ opened, before }: AccountParts): CallNumbers {
  const steps = new Map<number, number>(opened === undefined ? [] : [[opened, opened]]);
  let last = before?.step ?? 0;
  let count = opened ?? last;
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
  { meter, numbers, holds }: Charging,
): Pick<RunAccount, 'chargeStep' | 'chargeLate' | 'lost'> {
  let lost: OpenCall | undefined;
  return {
    lost: () => lost,
    chargeStep: async ({ step, ...made }, { purpose, modelId: asked = modelId } = {}) => {
      const known = await withEstimates(made);
      const place = { ...numbers.ofStep(step), purpose };
      numbers.stepEnded(step);
      holds.stepEnded();
      const ended = meter.add({ ...place, modelId: asked, ...known });
      if (ended !== undefined) record.keep(ended);
      else lost = lostCall(place, asked, known);
      return known.reply?.usage;
    },
    chargeLate: async ({ step, ...made }) => {
      if (lost?.step !== step) return;
      const { callNo, purpose, errorCode, modelRequested } = lost;
      const call = { callNo, step, purpose, ...(await withEstimates(made)), errorCode };
      const ended = createUsageMeter({ modelId: modelRequested, prices }).add(call);
      if (ended !== undefined) await record.addLate(ended);
    },
  };
}

/** Room for a call at the price of its model, and what it may cost at most. Throws MODEL_UNPRICED. */
function roomFor(
  call: PlannedCall,
  { budget, prices }: AccountParts,
): { readonly reserve?: Reservation; readonly costUsd: string } {
  const price = findPrice(prices, [call.modelId]);
  const isLimited = budget.maxCostUsd !== undefined || budget.monthly?.costLimitUsd !== undefined;
  if (isLimited && price === undefined) throw new RuntimeError('MODEL_UNPRICED', { model: call.modelId });
  const reserve = reservation(budget, call, price === undefined ? [] : [price]);
  return { reserve, costUsd: price === undefined ? '0' : dearestCost(call, price) };
}

/** Estimates the usage of replies that report none. Copies the attempts: a model that ignores the signal may still change them. */
async function withEstimates({ request, reply, error }: MadeCall): Promise<Omit<EndedCall, keyof ModelCallPlace>> {
  const { sent, answered, wasted = [] } = request.attempts;
  const attempts = { sent, answered, wasted: [...wasted] };
  const [known] = reply === undefined ? [] : await estimateUsage([reply], request);
  attempts.wasted = [...(await estimateUsage(attempts.wasted, request))];
  return { attempts, reply: known, errorCode: error?.code };
}

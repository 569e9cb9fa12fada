import { addSpent, NOTHING_SPENT } from '../billing/budget';
import { sumDecimals } from '../billing/cost';
import type { Spent } from '../contracts/ledger/journal';
import type { Reservation } from '../contracts/ledger/ledger';
import type { Holding } from './run-record';

/** Room in the month that a run holds: for its next step, and for the calls beside its steps that are under way. */
export interface Holds extends StepHold {
  /** Returns the most that calls which are reserved or under way may cost. */
  readonly expected: () => Spent;
  readonly expect: (callNo: number, spent: Spent) => void;
  readonly begin: (callNo: number, reserve: Reservation | undefined) => void;
  readonly end: (callNo: number) => void;
  readonly withCall: (callNo: number, reserve: Reservation | undefined) => Holding;
  readonly now: () => Holding;
}

interface StepHold {
  readonly withStep: (next: Reservation | undefined) => Holding;
  readonly stepEnded: () => void;
  /** Returns true where the room of a step was given back. */
  readonly yieldStep: () => boolean;
  /** The room that was given back, once. */
  readonly yielded: () => Reservation | undefined;
}

/** `isHeld`: room was reserved with the claim. */
export function trackHolds(isHeld: boolean): Holds {
  const expected = new Map<number, Spent>();
  const underWay = new Map<number, Reservation>();
  let step: Reservation | undefined;
  let yielded: Reservation | undefined;
  let mayHold = isHeld;
  const calls = (but?: number): readonly Reservation[] =>
    [...underWay].flatMap(([callNo, hold]) => (callNo === but ? [] : [hold]));
  // A run that waits for room keeps only what it is using, so that two of them never wait for each other.
  const otherwise = (but?: number): Spent | undefined => spentOf(sumOf(calls(but)));
  return {
    expected: () => [...expected.values()].reduce(addSpent, NOTHING_SPENT),
    expect: (callNo, spent) => void expected.set(callNo, spent),
    begin: (callNo, reserve) => {
      if (reserve !== undefined) underWay.set(callNo, reserve);
    },
    end: (callNo) => {
      expected.delete(callNo);
      underWay.delete(callNo);
    },
    stepEnded: () => {
      step = undefined;
      yielded = undefined;
    },
    yieldStep: () => {
      if (!mayHold) return false;
      mayHold = false;
      yielded = step;
      step = undefined;
      return true;
    },
    yielded: () => {
      const next = yielded;
      yielded = undefined;
      return next;
    },
    withStep: (next) => {
      step = next;
      mayHold = next !== undefined;
      if (underWay.size === 0) return { reserve: next };
      return { reserve: sumOf([next, ...calls()]), hold: otherwise() };
    },
    withCall: (callNo, reserve) => ({
      reserve: reserve && sumOf([reserve, step, ...calls(callNo)]),
      hold: otherwise(callNo),
    }),
    now: () => ({ hold: spentOf(sumOf([step, ...calls()])) ?? NOTHING_SPENT }),
  };
}

function spentOf(held: Reservation | undefined): Spent | undefined {
  return held && { costUsd: held.holdCostUsd, tokens: held.holdTokens };
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

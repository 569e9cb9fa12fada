import { higher, sumDecimals } from '../billing/cost';
import type { Spent } from '../contracts/ledger/journal';
import type { CallToTake, Reservation } from '../contracts/ledger/ledger';

export type Room = 'ok' | 'wait' | 'exceeded';

/** Whether the month has room for another model call. */
export function reserve(limits: Reservation | undefined, spent: Spent, held: readonly Spent[]): Room {
  if (limits === undefined) return 'ok';
  const { costLimitUsd, tokenLimit } = limits;
  const reaches = (cost: string, tokens: number): boolean =>
    (costLimitUsd !== undefined && higher(cost, costLimitUsd) === cost) ||
    (tokenLimit !== undefined && tokens >= Number(tokenLimit));
  if (reaches(spent.costUsd, spent.tokens)) return 'exceeded';
  const cost = sumDecimals([spent.costUsd, ...held.map(({ costUsd }) => costUsd)]);
  const allTokens = held.reduce((sum, { tokens }) => sum + tokens, spent.tokens);
  return reaches(cost, allTokens) ? 'wait' : 'ok';
}

/** Windows of a minute or a day that begin with the first call in them. */
export interface Windows {
  /** Milliseconds until the window ends when it is used up; 0 when the call was counted. */
  readonly take: (scope: string, spanMs: number, limit: number) => number;
}

export function createWindows(): Windows {
  const windows = new Map<string, { endsAt: number; used: number }>();
  return {
    take: (scope, spanMs, limit) => {
      const key = `${scope} ${spanMs}`;
      const now = Date.now();
      const known = windows.get(key);
      const current = known === undefined || known.endsAt <= now ? { endsAt: now + spanMs, used: 0 } : known;
      if (current.used >= limit) return Math.max(1, current.endsAt - now);
      windows.set(key, { ...current, used: current.used + 1 });
      return 0;
    },
  };
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Takes one call off its limits; gives the reason when it must not be made. What was taken before a refusal stays taken. */
export function takeCall(
  windows: Windows,
  { tool, callsPerMinute, callsPerDay, ofAgent }: CallToTake,
): string | undefined {
  const ofItsOwn = `${tool}@${ofAgent?.agent}`;
  const spans: readonly (readonly [scope: string, spanMs: number, limit?: number])[] = [
    [tool, MINUTE_MS, callsPerMinute],
    [tool, DAY_MS, callsPerDay],
    [ofItsOwn, MINUTE_MS, ofAgent?.callsPerMinute],
    [ofItsOwn, DAY_MS, ofAgent?.callsPerDay],
  ];
  const full = spans.find(([scope, spanMs, limit]) => limit !== undefined && windows.take(scope, spanMs, limit) > 0);
  if (full === undefined) return undefined;
  return full[1] === MINUTE_MS ? 'minute_limit_exceeded' : 'day_limit_exceeded';
}

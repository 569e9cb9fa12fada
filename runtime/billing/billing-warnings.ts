import { isWhole, type ModelReply } from '../contracts/model';
import type { ErrorCode } from '../errors/codes';
import { describeError, type ErrorDetails, type ErrorSummary } from '../errors/runtime-error';
import type { Charge, ChargeNote } from './charge-reply';
import { sumDecimals } from './cost';

/** Warnings about a run's model calls and their bill. */
export interface BillingWarnings {
  readonly replied: (reply: ModelReply, model: string) => void;
  readonly charged: (charge: Charge, step: number) => void;
  /** Replies that were no answer and were paid for. */
  readonly wasted: (count: number) => void;
  /** Requests that got no reply. */
  readonly unanswered: (count: number) => void;
  readonly all: () => readonly ErrorSummary[];
}

export function createBillingWarnings(): BillingWarnings {
  const said = new Map<string, ErrorSummary>();
  const warn = (code: ErrorCode, details: ErrorDetails): void => {
    const warning = describeError(code, details);
    said.set(warning.message, warning);
  };
  /** These are told once, however many calls there are. */
  const counts = { contradictory: 0, wasted: 0, estimated: 0, unanswered: 0 };
  let contradiction = '';
  const differing: Charge[] = [];

  const notes: Readonly<Record<ChargeNote, (charge: Charge, step: number) => void>> = {
    unpriced: ({ modelAsked }) => warn('USAGE_UNPRICED', { model: modelAsked }),
    missing: () => void (counts.unanswered += 1),
    estimated: () => void (counts.estimated += 1),
    provider: ({ costUsd }, step) => warn('COST_FROM_PROVIDER', { step, cost: costUsd }),
    differs: (charge) => void differing.push(charge),
  };
  return {
    replied: ({ fallback, reduced = [], finishReason: reason, finishWord = reason }, model) => {
      for (const without of reduced) warn('REQUEST_REDUCED', { model: fallback?.name ?? model, ...without });
      if (fallback !== undefined) warn('MODEL_FALLBACK', { model, code: fallback.code, fallback: fallback.name });
      // `truncated`, or the error, says enough of the others.
      if (!isWhole(reason) && reason !== 'length' && reason !== 'error')
        warn('LLM_REPLY_INCOMPLETE', { reason: finishWord });
    },
    charged: (charge, step) => {
      for (const note of charge.notes) notes[note](charge, step);
      if (charge.contradiction === undefined) return;
      if (counts.contradictory++ === 0) contradiction = `in call ${step}, ${charge.contradiction}`;
    },
    wasted: (count) => void (counts.wasted += count),
    unanswered: (count) => void (counts.unanswered += count),
    all: () => [
      ...said.values(),
      ...told('USAGE_CONTRADICTORY', counts.contradictory, { first: contradiction }),
      ...told('COST_DIFFERS', differing.length, costsOf(differing)),
      ...told('REPLIES_WASTED', counts.wasted),
      ...told('USAGE_ESTIMATED', counts.estimated),
      ...told('USAGE_UNKNOWN', counts.unanswered),
    ],
  };
}

function told(code: ErrorCode, count: number, details: ErrorDetails = {}): readonly ErrorSummary[] {
  return count === 0 ? [] : [describeError(code, { count, ...details })];
}

function costsOf(charges: readonly Charge[]): ErrorDetails {
  return {
    ours: sumDecimals(charges.map(({ costUsd }) => costUsd)),
    theirs: sumDecimals(charges.map(({ reportedUsd = '0' }) => reportedUsd)),
  };
}

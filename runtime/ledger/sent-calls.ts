import type { Step } from '../contracts/ledger/journal';

/** Which calls of the step that is being made may have been sent. */
export interface SentCalls {
  /** The calls in `sending` are sent from now on. */
  readonly begin: (step: Step) => void;
  /** The step without a call whose turn never came; undefined when no step knows it. */
  readonly withdraw: (toolCallId: string) => Step | undefined;
}

export function trackSentCalls(): SentCalls {
  let current: Step | undefined;
  return {
    begin: ({ sent, sending = [], ...step }) => {
      current = { ...step, sent: [...sent, ...sending] };
    },
    withdraw: (toolCallId) => {
      if (current === undefined) return undefined;
      const { calls = current.message.tool_calls ?? [], sent } = current;
      const place = calls.findIndex(({ id }) => id === toolCallId);
      if (place === -1) return undefined;
      return (current = { ...current, sent: sent.filter((one) => one !== place) });
    },
  };
}

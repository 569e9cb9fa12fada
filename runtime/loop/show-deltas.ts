import type { ModelDelta } from '../contracts/model';
import { redactNothing } from '../util/redaction/redact';
import { createThinkingFilter } from '../util/text/thinking-filter';
import type { LoopInput } from './loop-contract';

interface Shown {
  readonly push: (delta: ModelDelta) => void;
  /** The reply is whole: what was held back may go. */
  readonly end: () => void;
}

/** Tells of the pieces of a reply, without thinking and without secrets, also where these come in pieces. */
export function showDeltas({ emit, scope }: Pick<LoopInput, 'emit' | 'scope'>, step: number): Shown {
  const tell = (type: 'text-delta' | 'reasoning-delta') => (text: string) => {
    if (text !== '') emit({ type, step, text });
  };
  const redact = scope.redact ?? redactNothing;
  const [text, reasoning, visible] = [redact.stream(), redact.stream(), createThinkingFilter()];
  const tellText = tell('text-delta');
  const tellReasoning = tell('reasoning-delta');
  return {
    push: (delta) => {
      if (delta.kind === 'text') tellText(text.push(visible.push(delta.text)));
      else tellReasoning(reasoning.push(delta.text));
    },
    end: () => {
      tellReasoning(reasoning.end());
      tellText(text.push(visible.end()) + text.end());
    },
  };
}

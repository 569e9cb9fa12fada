import type { ModelDelta } from '../contracts/model';
import type { Redact } from '../util/redact';
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
  const text = createCleaner(scope.redact, tell('text-delta'));
  const reasoning = createCleaner(scope.redact, tell('reasoning-delta'));
  const visible = createThinkingFilter();
  return {
    push: (delta) => {
      if (delta.kind === 'text') text.push(visible.push(delta.text));
      else reasoning.push(delta.text);
    },
    end: () => {
      reasoning.end();
      text.push(visible.end());
      text.end();
    },
  };
}

interface Cleaner {
  readonly push: (piece: string) => void;
  readonly end: () => void;
}

/** Holds back what may be the beginning of a secret. */
function createCleaner(redact: Redact | undefined, tell: (text: string) => void): Cleaner {
  let held = '';
  return {
    push: (piece) => {
      if (piece === '') return;
      held += piece;
      const end = redact?.mayBeginAt?.(held) ?? held.length;
      const ready = held.slice(0, end);
      held = held.slice(end);
      tell(redact === undefined ? ready : redact(ready));
    },
    end: () => {
      tell(redact === undefined ? held : redact(held));
      held = '';
    },
  };
}

import type { ModelRequest } from '../../contracts/model';
import { isJsonObject, type JsonObject, objectOf } from '../../util/json';

/** Words and facts of a reply, piece by piece. */
export interface Listener {
  /** Options of its call. None where nobody listens. */
  readonly options: { readonly callbacks?: readonly object[] };
  /** The text of all pieces; empty where the reply comes as a whole. */
  readonly text: () => string;
  /** Facts beside the message, such as why a streamed reply ended: LangChain leaves them out of it. */
  readonly facts: () => JsonObject;
  /** Tokens of the output that LangChain has counted twice. */
  readonly countedTwice: () => number;
}

/** Has a chat model stream its reply if it can, as n8n's AI Agent does: models look for this mark at whoever listens. */
const PREFERS_STREAMING = { name: 'universal-ai-agent', lc_prefer_streaming: true, awaitHandlers: true };

export function listen({ onDelta, attempts }: Pick<ModelRequest, 'onDelta' | 'attempts'>): Listener {
  let [text, facts, lastBlock]: [string, JsonObject, unknown] = ['', {}, undefined];
  const counts = outputCounts();
  const heard = { text: () => text, facts: () => facts, countedTwice: counts.countedTwice };
  if (onDelta === undefined) return { ...heard, options: {} };
  const say = (piece: string): void => {
    if (piece === '') return;
    text += piece;
    attempts.isShown = true;
    onDelta({ kind: 'text', text: piece });
  };
  const handler = {
    ...PREFERS_STREAMING,
    handleLLMNewToken: (token: unknown, ...[, , , , fields]: readonly unknown[]) => {
      const message = fieldOf(fieldOf(fields, 'chunk'), 'message');
      counts.look(message);
      for (const { text: piece, block } of piecesOf(message === undefined ? token : fieldOf(message, 'content'))) {
        say(text !== '' && block !== lastBlock ? `\n${piece}` : piece);
        lastBlock = block;
      }
    },
    handleLLMEnd: ({ generations }: { readonly generations?: readonly (readonly unknown[])[] }) => {
      const [[generation] = []] = generations ?? [];
      facts = objectOf(isJsonObject(generation) ? generation.generationInfo : undefined);
    },
  };
  return { ...heard, options: { callbacks: [handler] } };
}

interface Piece {
  readonly text: string;
  /** Number of the block that it belongs to, in a reply of several. */
  readonly block?: unknown;
}

/** Reads the content of a chunk: what adapters name as the token may also be the arguments of a call. */
function piecesOf(content: unknown): readonly Piece[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  return blocks.flatMap((block) => {
    const text = fieldOf(block, 'text');
    return typeof text === 'string' && text !== '' ? [{ text, block: fieldOf(block, 'index') }] : [];
  });
}

interface OutputCounts {
  readonly look: (message: unknown) => void;
  readonly countedTwice: () => number;
}

/** Anthropic counts its output from the beginning again with the end of a message; LangChain adds both counts up. */
function outputCounts(): OutputCounts {
  let [begun, ended] = [0, 0];
  return {
    look: (message) => {
      const tokens = fieldOf(fieldOf(message, 'usage_metadata'), 'output_tokens');
      if (typeof tokens !== 'number') return;
      if (fieldOf(fieldOf(message, 'additional_kwargs'), 'type') === 'message') begun = tokens;
      else ended = tokens;
    },
    countedTwice: () => (ended >= begun ? begun : 0),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

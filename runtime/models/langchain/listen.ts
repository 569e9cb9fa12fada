import type { ModelRequest } from '../../contracts/model';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../util/json';
import { isFinishReason } from '../openai/finish-reason';

/** Words and facts of a reply, piece by piece. */
export interface Listener {
  /** Options of its call. None where nobody listens. */
  readonly options: { readonly callbacks?: readonly object[] };
  /** The text of all pieces; empty where the reply comes as a whole. */
  readonly text: () => string;
  /** Everything that was written, with what the model thinks and the arguments of calls. */
  readonly written: () => string;
  /** Reports whether the reply came to its end. */
  readonly isWhole: () => boolean;
  /** Facts beside the message, such as the model: LangChain leaves them out of a streamed one. */
  readonly facts: () => JsonObject;
  /** Last reason of the end that a piece gave. In the message an empty one of a later piece takes its place. */
  readonly reason: () => string | undefined;
  /** Usage of all pieces, as LangChain adds it up. */
  readonly usage: () => JsonObject | undefined;
  /** Tokens of the output that LangChain has counted twice. */
  readonly countedTwice: () => number;
}

/** Has a chat model stream its reply if it can, as n8n's AI Agent does: models look for this mark at whoever listens. */
const PREFERS_STREAMING = { name: 'universal-ai-agent', lc_prefer_streaming: true, awaitHandlers: true };

export function listen({ onDelta, attempts }: Pick<ModelRequest, 'onDelta' | 'attempts'>): Listener {
  let [text, facts, lastBlock]: [string, JsonObject | undefined, unknown] = ['', undefined, undefined];
  const pieces = hearPieces();
  const heard = {
    ...{ text: () => text, written: () => text + pieces.unsaid(), reason: pieces.reason, usage: pieces.usage },
    ...{ facts: () => facts ?? {}, isWhole: () => facts !== undefined, countedTwice: pieces.countedTwice },
  };
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
      const chunk = fieldOf(fields, 'chunk');
      const message = fieldOf(chunk, 'message');
      pieces.look(chunk);
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

interface HeardPieces extends Pick<Listener, 'reason' | 'usage' | 'countedTwice'> {
  readonly look: (chunk: unknown) => void;
  /** Thinking and arguments of calls. */
  readonly unsaid: () => string;
}

function hearPieces(): HeardPieces {
  let [unsaid, reason, usage]: [string, string | undefined, JsonValue | undefined] = ['', undefined, undefined];
  const counts = outputCounts();
  return {
    look: (chunk) => {
      const message = fieldOf(chunk, 'message');
      const given = fieldOf(message, 'usage_metadata') as JsonValue | undefined;
      usage = added(usage, given);
      counts.look(message, fieldOf(given, 'output_tokens'));
      unsaid += unsaidIn(message);
      const places = ['additional_kwargs', 'response_metadata'].map((name) => fieldOf(message, name));
      const facts = [...places, fieldOf(chunk, 'generationInfo')].filter(isJsonObject);
      reason = facts.map(reasonIn).find((one) => one !== undefined) ?? reason;
    },
    unsaid: () => unsaid,
    reason: () => reason,
    usage: () => (isJsonObject(usage) ? usage : undefined),
    countedTwice: counts.countedTwice,
  };
}

/** The reason of the end, for which each provider has a field of its own. */
export function reasonIn(facts: JsonObject): string | undefined {
  const { finish_reason, stop_reason, finishReason, stopReason, done_reason } = facts;
  return [finish_reason, stop_reason, finishReason, stopReason, done_reason].find(isFinishReason);
}

/** Reads what a chunk holds beside text. */
function unsaidIn(message: unknown): string {
  const calls = fieldOf(message, 'tool_call_chunks');
  const content = fieldOf(message, 'content');
  const [chunks, blocks] = [calls, content].map((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  const thought = fieldOf(fieldOf(message, 'additional_kwargs'), 'reasoning_content');
  const parts = [
    ...(chunks ?? []).flatMap((call) => [fieldOf(call, 'name'), fieldOf(call, 'args')]),
    ...(blocks ?? []).flatMap((block) => [fieldOf(block, 'thinking'), fieldOf(block, 'reasoning')]),
    thought,
  ];
  return parts.filter((part) => typeof part === 'string').join('');
}

function added(before: JsonValue | undefined, now: JsonValue | undefined): JsonValue | undefined {
  if (typeof now === 'number') return typeof before === 'number' ? before + now : now;
  if (!isJsonObject(now)) return before;
  const known = isJsonObject(before) ? before : {};
  const sums = Object.entries(now).map(([name, count]) => [name, added(known[name], count) ?? null]);
  return { ...known, ...(Object.fromEntries(sums) as JsonObject) };
}

interface OutputCounts extends Pick<Listener, 'countedTwice'> {
  readonly look: (message: unknown, tokens: unknown) => void;
}

/** Anthropic counts its output from the beginning again with each part of the end of a message; LangChain adds all counts up. */
function outputCounts(): OutputCounts {
  let [hasBegun, isGrowing, earlier, last] = [false, true, 0, 0];
  return {
    look: (message, tokens) => {
      if (typeof tokens !== 'number') return;
      if (fieldOf(fieldOf(message, 'additional_kwargs'), 'type') === 'message') hasBegun = true;
      isGrowing &&= tokens >= last;
      earlier += last;
      last = tokens;
    },
    countedTwice: () => (hasBegun && isGrowing ? earlier : 0),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

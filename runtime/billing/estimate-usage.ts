import { wordsOf } from '../contracts/message';
import type { ModelReply, ModelRequest, WastedReply } from '../contracts/model';
import { NO_USAGE } from './charge-reply';

/**
 * Estimates the usage of replies that report none, whole ones and those that broke off, by counting the tokens of the request and of what
 * came. The tokenizer is loaded only then. Never rejects: a reply that cannot be counted stays without usage.
 */
export async function estimateUsage<T extends ModelReply | WastedReply>(
  replies: readonly T[],
  asked: Pick<ModelRequest, 'messages' | 'tools'>,
): Promise<readonly T[]> {
  if (replies.every((reply) => writtenIn(reply) === undefined)) return replies;
  try {
    const { countTokens } = await import('../util/text/count-tokens');
    const promptTokens = asked.messages.length * TOKENS_OF_A_MESSAGE + (await countTokens(textOf(asked)));
    const estimated: T[] = [];
    for (const reply of replies) {
      const written = writtenIn(reply);
      const usage = written && { ...NO_USAGE, promptTokens, completionTokens: await countTokens(written.text) };
      estimated.push(usage === undefined ? reply : { ...reply, usage, isEstimated: true });
    }
    return estimated;
  } catch {
    // The files of this version may be gone, and a tool of the host may have a schema that is no JSON.
    return replies;
  }
}

/** Tokens around each message, as OpenAI counts them. */
const TOKENS_OF_A_MESSAGE = 4;

/** Undefined for a reply with usage, and for one of which nothing is known but its cost. */
function writtenIn(reply: ModelReply | WastedReply): { readonly text: string } | undefined {
  if (reply.usage !== undefined) return undefined;
  const text = reply.written ?? ('message' in reply ? wordsOf(reply.message) : undefined);
  return text === undefined ? undefined : { text };
}

function textOf({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): string {
  const offered = tools.map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }));
  return [...offered, ...messages.map(wordsOf)].join('\n');
}

import { wordsOf } from '../contracts/message';
import type { ModelReply, ModelRequest, WastedReply } from '../contracts/model';
import { NO_USAGE } from './charge-reply';

type Asked = Pick<ModelRequest, 'messages' | 'tools'>;

/**
 * Estimates the usage of replies that report none, whole or broken off, by counting the tokens of the request and of what came. Loads the
 * tokenizer only then. Never rejects: a reply that cannot be counted stays without usage.
 */
export async function estimateUsage<T extends ModelReply | WastedReply>(
  replies: readonly T[],
  asked: Asked,
): Promise<readonly T[]> {
  if (replies.every((reply) => writtenIn(reply) === undefined)) return replies;
  try {
    const { countTokens } = await import('../util/text/count-tokens');
    const promptTokens = asked.messages.length * TOKENS_OF_A_MESSAGE + (await countTokens(textOf(asked)));
    const estimated: T[] = [];
    for (const reply of replies) {
      const written = writtenIn(reply);
      const usage = { ...NO_USAGE, promptTokens, completionTokens: await countTokens(written ?? '') };
      estimated.push(written === undefined ? reply : { ...reply, usage, isEstimated: true });
    }
    return estimated;
  } catch {
    // The files of this version may be gone, and a tool of the host may have a schema that is not JSON.
    return replies;
  }
}

/** Tokens around each message, as OpenAI counts them. */
const TOKENS_OF_A_MESSAGE = 4;

/** Returns undefined for a reply with usage, and for one of which only the cost is known. */
function writtenIn(reply: ModelReply | WastedReply): string | undefined {
  if (reply.usage !== undefined) return undefined;
  return reply.written ?? ('message' in reply ? wordsOf(reply.message) : undefined);
}

function textOf({ messages, tools }: Asked): string {
  const offered = tools.map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }));
  return [...offered, ...messages.map(wordsOf)].join('\n');
}

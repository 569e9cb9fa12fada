import type { Usage } from '../contracts/ledger/usage';
import { wordsOf } from '../contracts/message';
import type { ModelReply, ModelRequest, WastedReply } from '../contracts/model';
import { NO_USAGE } from './charge-reply';

type Asked = Pick<ModelRequest, 'messages' | 'tools'>;

/**
 * Estimates the usage of replies that report none, whole or broken off, by counting the tokens of the request and of what came. Loads the
 * tokenizer only then. Never rejects: a reply that cannot be counted stays without usage.
 */
export async function estimateUsage<T extends ModelReply | WastedReply>(
  given: readonly T[],
  asked: Asked,
): Promise<readonly T[]> {
  const replies = given.map(withAllCounts);
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

/** Fills the counts that a plugged-in model leaves out. Without those of prompt and reply the usage is not reported at all. */
function withAllCounts<T extends ModelReply | WastedReply>(reply: T): T {
  const { usage } = reply;
  if (usage === undefined) return reply;
  // A model that is plugged in may give anything.
  const { promptTokens, completionTokens } = (usage as Usage | null) ?? {};
  if (!isCount(promptTokens) || !isCount(completionTokens)) return { ...reply, usage: undefined };
  if (COUNTS.every((key) => isCount(usage[key]))) return reply;
  const known = COUNTS.filter((key) => isCount(usage[key])).map((key) => [key, usage[key]]);
  return { ...reply, usage: { ...NO_USAGE, ...(Object.fromEntries(known) as Partial<Usage>) } };
}

const COUNTS = Object.keys(NO_USAGE) as (keyof Usage)[];
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

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

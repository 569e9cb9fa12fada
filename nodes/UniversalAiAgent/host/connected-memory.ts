import { NodeConnectionTypes } from 'n8n-workflow';

import type { Memory, Message } from '../../../runtime/host';
import type { Item } from '../../shared/item';
import { historyOf, textOf, toHostMessages } from './host-messages';

/** A memory of n8n, as far as it is looked at here: an object of LangChain, or one with the same properties. */
interface HostMemory {
  readonly loadMemoryVariables: (values: object) => Promise<{ readonly chat_history?: unknown } | undefined>;
  readonly saveContext: (input: { readonly input: string }, output: { readonly output: string }) => Promise<unknown>;
  readonly chatHistory?: { readonly addMessages?: (messages: readonly unknown[]) => Promise<unknown> };
}

/** The memory that is wired to the node, for the session of this item. Rejects with n8n's own error when its node fails. */
export async function readConnectedMemory({ context, index }: Item): Promise<Memory | undefined> {
  const connected: unknown = await context.getInputConnectionData(NodeConnectionTypes.AiMemory, index);
  if (typeof connected !== 'object' || connected === null) return undefined;
  const memory = connected as HostMemory;
  return {
    load: async () => historyOf((await memory.loadMemoryVariables({}))?.chat_history ?? []),
    save: (turn) => save(memory, turn),
  };
}

/**
 * Tool calls are messages of their own where the memory takes such. Elsewhere they are left out: from a text that tells of
 * them models learn to write such texts (n8n's issues 14361 and 23819).
 */
async function save(memory: HostMemory, turn: readonly Message[]): Promise<void> {
  const input = textOf(turn[0]?.content);
  const output = textOf(turn.at(-1)?.content);
  const hasSteps = turn.length > 2;
  const messages = hasSteps ? toHostMessages(turn) : undefined;
  const { chatHistory } = memory;
  if (messages === undefined || typeof chatHistory?.addMessages !== 'function') {
    await memory.saveContext({ input }, { output });
    return;
  }
  await chatHistory.addMessages(messages);
}

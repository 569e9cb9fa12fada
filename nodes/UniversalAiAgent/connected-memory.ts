import { NodeConnectionTypes } from 'n8n-workflow';

import type { Memory, Message } from '../../runtime';
import { describeSteps, historyOf, toHostMessages } from './host-messages';
import type { Item } from './item';

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

/** As n8n's AI Agent keeps a turn: its tool calls as messages of their own where the memory takes such, else as text. */
async function save(memory: HostMemory, turn: readonly Message[]): Promise<void> {
  const input = turn[0]?.content ?? '';
  const output = turn.at(-1)?.content ?? '';
  const steps = turn.slice(1, -1);
  if (steps.length === 0) {
    await memory.saveContext({ input }, { output });
    return;
  }
  const messages = toHostMessages(turn);
  const { chatHistory } = memory;
  if (messages === undefined || typeof chatHistory?.addMessages !== 'function') {
    await memory.saveContext({ input }, { output: `[Used tools: ${describeSteps(steps)}] ${output}` });
    return;
  }
  await chatHistory.addMessages(messages);
}

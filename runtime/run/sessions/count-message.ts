import type { SessionMessage } from '../../contracts/ledger/session';
import { type Message, wordsOf } from '../../contracts/message';

/** Tokens around a message, as OpenAI counts them. */
const AROUND = 4;
/** Where the tokenizer cannot be loaded, since the files of this version are gone. */
const CHARACTERS_OF_A_TOKEN = 3;

/** Counts the tokens that a text takes, about. Never rejects. */
export async function countText(text: string): Promise<number> {
  try {
    const { countTokens } = await import('../../util/text/count-tokens');
    return AROUND + (await countTokens(text));
  } catch {
    return AROUND + Math.ceil(text.length / CHARACTERS_OF_A_TOKEN);
  }
}

/** The messages of a turn, each with the tokens that it takes of a window. */
export async function countMessages(messages: readonly Message[]): Promise<readonly SessionMessage[]> {
  const counted: SessionMessage[] = [];
  for (const message of messages) {
    if (message.role !== 'system') counted.push({ message, tokens: await countText(wordsOf(message)) });
  }
  return counted;
}

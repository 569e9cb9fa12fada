import type { Spent } from '../../contracts/ledger/journal';
import type { NewTurn } from '../../contracts/ledger/session';
import { type Message, textOf } from '../../contracts/message';
import type { LoopOutcome } from '../../contracts/outcome';
import type { AgentResult } from '../../contracts/result';
import { isAnswered, turnMessages } from '../memory';
import type { ClaimedRun } from '../run';
import { countMessages } from './count-message';

/** Characters of the results of a turn. */
const MOST_CHARACTERS = 1_000_000;
const NOT_KEPT = '[The result was not kept, since the results of this turn are too large.]';

/** The turn that the session of a run keeps; undefined without a session or an answer. */
export async function turnOf(
  run: ClaimedRun,
  {
    result,
    outcome: { said = [], error },
    spent,
  }: { readonly result: AgentResult; readonly outcome: LoopOutcome; readonly spent: Spent },
): Promise<NewTurn | undefined> {
  const { session, config } = run.plan;
  if (session === undefined || error !== undefined || !isAnswered(result)) return undefined;
  const { agent, sessionId } = session;
  const messages = turnMessages({ message: run.redact(config.message), said, result, redact: run.redact });
  return { agent, sessionId, messages: await countMessages(bounded(messages)), ...spent };
}

/** Leaves out results of tools beyond so much: what is written and read as one must not hold the process. */
function bounded(messages: readonly Message[]): readonly Message[] {
  let left = MOST_CHARACTERS;
  return messages.map((message) => {
    if (message.role !== 'tool') return message;
    left -= textOf(message.content).length;
    return left >= 0 ? message : { ...message, content: NOT_KEPT };
  });
}

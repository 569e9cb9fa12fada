import type { Spent } from '../../contracts/ledger/journal';
import type { NewTurn } from '../../contracts/ledger/session';
import type { LoopOutcome } from '../../contracts/outcome';
import type { AgentResult } from '../../contracts/result';
import { isAnswered, turnMessages } from '../memory';
import type { ClaimedRun } from '../run';
import { countMessages } from './count-message';

/** The turn that the session of a run keeps; undefined without a session or an answer. */
export async function turnOf(
  run: ClaimedRun,
  {
    result,
    outcome: { said = [] },
    spent,
  }: { readonly result: AgentResult; readonly outcome: LoopOutcome; readonly spent: Spent },
): Promise<NewTurn | undefined> {
  const { session, config } = run.plan;
  if (session === undefined || !isAnswered(result)) return undefined;
  const { agent, sessionId } = session;
  const messages = turnMessages({ message: run.redact(config.message), said, result, redact: run.redact });
  return { agent, sessionId, messages: await countMessages(messages), ...spent };
}

import { DEFAULTS } from '../../config/runtime-config';
import type { TaskConfig } from '../../contracts/task';
import { describeError, type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import type { Run, RunEnvironment, RunSession } from '../run';

/** The length of an agent's name that an index holds with the id. */
const MOST_OF_NAME = 200;

interface ChosenSession {
  readonly session?: RunSession;
  readonly warnings: readonly ErrorSummary[];
}

/** Returns the session that a task names; none where a memory is connected. Throws SESSION_UNAVAILABLE. */
export function sessionOf(
  { ledger }: RunEnvironment,
  { request, host, parent }: Run,
  {
    config: { session_id: sessionId, agent = '' },
    settings,
  }: { readonly config: TaskConfig; readonly settings: { sessionDays?: number; sessionWindowTokens?: number } },
): ChosenSession {
  // Runs that work for another one have no conversation of their own.
  if (sessionId === undefined || parent !== undefined) return { warnings: [] };
  if (host.connected?.memory !== undefined)
    return { warnings: [describeError('SESSION_UNUSED', { session: sessionId })] };
  if (agent.length > MOST_OF_NAME) {
    const issues = `config.agent must have at most ${MOST_OF_NAME} characters with a session`;
    throw new RuntimeError('INPUT_INVALID', { issues });
  }
  if (ledger.sessions === undefined) throw new RuntimeError('SESSION_UNAVAILABLE');
  const { sessionDays: days = DEFAULTS.sessionDays, sessionWindowTokens: windowTokens = DEFAULTS.sessionWindowTokens } =
    settings;
  return { session: { tenantId: request.meta.tenant_id, agent, sessionId, windowTokens, days }, warnings: [] };
}

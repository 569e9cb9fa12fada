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
    config,
    settings,
  }: { readonly config: TaskConfig; readonly settings: { sessionDays?: number; sessionWindowTokens?: number } },
): ChosenSession {
  // Runs that work for another one have no memory.
  if (parent !== undefined) return { warnings: [] };
  if (host.connected?.memory !== undefined) return { warnings: unusedBeside(config) };
  const { session_id: sessionId, agent = '', messages } = config;
  if (sessionId === undefined) return { warnings: [] };
  if (agent.length > MOST_OF_NAME) {
    const issues = `config.agent must have at most ${MOST_OF_NAME} characters with a session`;
    throw new RuntimeError('INPUT_INVALID', { issues });
  }
  if (ledger.sessions === undefined) throw new RuntimeError('SESSION_UNAVAILABLE');
  const { sessionDays: days = DEFAULTS.sessionDays, sessionWindowTokens: windowTokens = DEFAULTS.sessionWindowTokens } =
    settings;
  const session = { tenantId: request.meta.tenant_id, agent, sessionId, windowTokens, days };
  return { session, warnings: unused(messages, `the session "${sessionId}"`) };
}

/** A memory that is connected is the only one. */
function unusedBeside({ session_id: session, messages }: TaskConfig): readonly ErrorSummary[] {
  const warnings = unused(messages, 'the connected memory');
  return session === undefined ? warnings : [...warnings, describeError('SESSION_UNUSED', { session })];
}

function unused(messages: TaskConfig['messages'], instead: string): readonly ErrorSummary[] {
  return messages === undefined ? [] : [describeError('MESSAGES_UNUSED', { instead })];
}

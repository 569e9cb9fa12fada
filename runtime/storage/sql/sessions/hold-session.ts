import type { SessionKey } from '../../../contracts/ledger/session';
import { named } from '../named';

/** Returns whether the run has the session. */
export const holdSession = named<SessionKey & { readonly runId: string }>(`
SELECT elo_agent_hold_session(:tenantId::uuid, :agent, :sessionId, :runId::uuid) AS is_held`);

import * as z from 'zod/v4';

import type { SessionKey } from '../../contracts/ledger/session';
import { RuntimeError } from '../../errors/runtime-error';
import { tenantIdField } from '../read-input';

export const sessionIdField = z
  .string()
  .min(1)
  .max(200)
  .meta({ title: 'Session ID', placeholder: '{{ $json.session_id }}' });

/** The name of an agent, or of one that is gone. */
export const agentField = z.string().max(200);

/** Identity of a session within a tenant. */
export const sessionShape = {
  tenantId: tenantIdField,
  sessionId: sessionIdField,
  agent: agentField.default('').meta({ initial: '', description: 'Empty for the session of runs without an agent' }),
};

export function unknownSession({ tenantId, agent, sessionId: session }: SessionKey): RuntimeError {
  const of = agent === '' ? 'of runs without an agent' : `of the agent "${agent}"`;
  return new RuntimeError('SESSION_NOT_FOUND', { tenantId, session, of });
}

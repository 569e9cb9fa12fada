import { deleteSession as deleteStatement } from '../../storage/sql/sessions/manage-sessions';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { sessionShape, unknownSession } from './session-fields';

export const deleteSession = operation({
  name: 'session.delete',
  title: 'Delete',
  action: 'Delete a session',
  description: 'Delete a conversation with all that was said; the results of its runs stay until they are 30 days old',
  input: strictObject(sessionShape),
  run: async ({ postgres: { query } }, session) => {
    const { tenantId, sessionId, agent } = session;
    await checkTenant(query, tenantId);
    const deleted = await query(deleteStatement(session));
    if (deleted.length === 0) throw unknownSession(session);
    return { tenant_id: tenantId, session_id: sessionId, agent, deleted: true as const };
  },
});

import { RuntimeError } from '../../errors/runtime-error';
import { exportMessages } from '../../storage/sql/sessions/manage-sessions';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import { agentField, sessionIdField } from './session-fields';

const MOST_MESSAGES = 50_000;

export const exportSessions = operation({
  name: 'session.export',
  title: 'Export',
  action: 'Export sessions',
  description: 'Everything that was said, as a file of JSON Lines: one message each',
  input: strictObject({
    tenantId: tenantIdField,
    sessionId: sessionIdField.optional().meta({ group: 'filters', title: 'Session ID' }),
    agent: agentField.optional().meta({ group: 'filters', description: 'Only the sessions of this agent' }),
  }),
  run: async ({ postgres: { query } }, asked) => {
    await checkTenant(query, asked.tenantId);
    const rows = await query<JsonObject>(exportMessages({ ...asked, rows: MOST_MESSAGES + 1 }));
    if (rows.length > MOST_MESSAGES) throw new RuntimeError('SESSIONS_TOO_LONG', { most: MOST_MESSAGES });
    return {
      file_name: `sessions-${asked.tenantId}.jsonl`,
      mime_type: 'application/jsonl',
      text: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    };
  },
});

import { RuntimeError } from '../../errors/runtime-error';
import { exportMessages, type SessionMessageEntry } from '../../storage/sql/sessions/manage-sessions';
import type { Query } from '../../storage/statement';
import { strictObject } from '../../util/known-keys';
import { turn } from '../../util/turn';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import { agentField, sessionIdField } from './session-fields';

const MOST_MESSAGES = 50_000;
const MOST_CHARACTERS = 50_000_000;
/** Messages that are read at a time. */
const PAGE = 100;

interface Asked {
  readonly tenantId: string;
  readonly sessionId?: string;
  readonly agent?: string;
}

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
    return {
      file_name: `sessions-${asked.tenantId}.jsonl`,
      mime_type: 'application/jsonl',
      text: (await linesOf(query, asked)).join(''),
    };
  },
});

type Line = SessionMessageEntry & { readonly id: string };

/** Rejects with SESSIONS_TOO_LONG. */
async function linesOf(query: Query, asked: Asked): Promise<readonly string[]> {
  const lines: string[] = [];
  let length = 0;
  let last: Line | undefined;
  do {
    const page = await query<Line>(exportMessages({ ...asked, afterSession: last?.id, afterNo: last?.no, rows: PAGE }));
    for (const { id: _id, ...message } of page) {
      await turn();
      const line = `${JSON.stringify(message)}\n`;
      length += line.length;
      lines.push(line);
    }
    if (lines.length > MOST_MESSAGES || length > MOST_CHARACTERS) {
      throw new RuntimeError('SESSIONS_TOO_LONG', { most: MOST_MESSAGES });
    }
    last = page.length < PAGE ? undefined : page.at(-1);
  } while (last !== undefined);
  return lines;
}
